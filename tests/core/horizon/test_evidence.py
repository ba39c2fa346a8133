"""Evidence: the parts nearest to the question, within a limit."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.core.horizon.evidence import LEFT_OUT, evidence

DAY = "# session: principal\n\n### Lunch\n\nSoup.\n\n### Budget\n\nThe budget is $42M.\n\n### Travel\n\nNo trains."


def test_a_day_that_fits_is_shown_whole() -> None:
    assert evidence("What is the budget?", "$42M", {3: DAY}, 1000) == {3: DAY}


def test_of_a_longer_day_the_nearest_parts_are_shown() -> None:
    assert evidence("What is the budget?", "$42M", {3: DAY}, 40) == {
        3: f"### Budget\n\nThe budget is $42M.\n\n{LEFT_OUT}"
    }


@given(st.dictionaries(st.integers(1, 9), st.text("ab#\n ", max_size=300), max_size=4), st.integers(20, 400))
def test_the_limit_holds_but_for_marks_and_blank_lines(texts: dict[int, str], limit: int) -> None:
    found = evidence("a", "b", texts, limit)
    assert found.keys() == texts.keys()
    shown = "".join(found.values()).replace(LEFT_OUT, "").replace("\n", "")
    assert len(shown) <= limit
