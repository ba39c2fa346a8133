"""Excerpts: what a judge is shown of the days."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.persona import Calendar
from pytest_recall.horizon.questioning import excerpts, forbidden_excerpts, window_days
from tests.horizon.questions import boundary, question

FILLER = "### Weather\n\n" + " ".join(["Rain again in the yard."] * 40)
TEXTS = {
    1: f"# session: principal\n\n{FILLER}",
    2: f"# session: principal\n\n{FILLER}\n\n### Order\n\nThe order walnut is 1,074 dollars.",
    3: f"# session: payroll\n\n{FILLER}\n\n### Wages\n\nBen earns 7,033 for the order walnut.",
}
CALENDAR = Calendar()


def test_a_window_ends_with_what_was_told() -> None:
    asked = question(relevant_days=[2, 5])
    assert window_days(asked, 1, range(1, 10), 10) == [1, 2, 3, 4, 5, 6]
    assert window_days(asked, 1, range(1, 10), 5) == [1, 2, 3, 4, 5]
    assert window_days(asked, 0, [2, 4], 10) == [2]


def test_what_fits_is_shown_whole_and_in_order() -> None:
    shown = excerpts(question(), TEXTS, CALENDAR, 10_000)
    assert [text.split("\n")[0] for text in shown] == ["Day 1, 2024-01-01", "Day 2, 2024-01-02", "Day 3, 2024-01-03"]
    assert all(part.split("\n")[-1] in "\n".join(shown) for part in TEXTS.values())


def test_where_not_all_fits_what_is_relevant_comes_first() -> None:
    shown = excerpts(question(), TEXTS, CALENDAR, 150)
    assert shown == [
        "Day 2, 2024-01-02, cut: the parts nearest to the question\n\n# session: principal\n\n"
        "### Order\n\nThe order walnut is 1,074 dollars."
    ]


def test_of_forbidden_sessions_nothing_else_is_shown() -> None:
    (shown,) = forbidden_excerpts(boundary(relevant_days=[2, 3]), TEXTS, CALENDAR, 10_000)
    assert "Ben earns" in shown
    assert "1,074" not in shown


@given(
    st.dictionaries(
        st.integers(1, 9),
        st.lists(st.text(alphabet="walnut order 19\n", max_size=600), max_size=4).map(
            lambda topics: "# session: a\n\n" + "\n\n".join(f"### {one}" for one in topics)
        ),
        max_size=5,
    ),
    st.integers(0, 3000),
)
def test_no_more_is_shown_than_is_allowed(texts: dict[int, str], limit: int) -> None:
    shown = excerpts(question(), texts, CALENDAR, limit)
    assert sum(map(len, shown)) <= limit
    days = [int(text.split(",")[0].removeprefix("Day ")) for text in shown]
    assert days == sorted(set(days))
