"""What a reader is given beside a memory: floors and the ceiling, in as many tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import Unit
from pytest_recall.datasets.membench import HANDED_OUT
from pytest_recall.datasets.reader_floors import ReaderFloor, is_unknown, reader_floors
from pytest_recall.files.errors import CaseError
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.metrics.floors import READ_FROM
from pytest_recall.trials.trial import Answer, Outcome, Trial

UNITS = [Unit(id=f"D1:{n}", content=f"{n:040}", metadata={"session": "S1"}) for n in range(9)]
"""Nine turns of ten tokens each."""


def handed(name: str, budget: float, evidence: list[str]) -> list[tuple[str | None, int]]:
    answer = ReaderFloor(name, "mine", {"q": budget}).answer("q", UNITS, evidence)
    return [(one.source, len(one.text)) for one in answer.passages]


def test_the_last_text_is_cut_to_what_is_left() -> None:
    assert handed("last", 25, []) == [("D1:8", 40), ("D1:7", 40), ("D1:6", 20)]
    assert handed("oracle", 15, ["D1:3", "D1:5"]) == [("D1:3", 40), ("D1:5", 20)]
    assert handed("nothing", 25, ["D1:3"]) == []
    assert handed("oracle", 0, ["D1:3"]) == []


@given(
    st.sampled_from(READ_FROM),
    st.integers(0, 120),
    st.lists(st.sampled_from([one.id for one in UNITS]), unique=True, max_size=4),
)
def test_none_hands_out_more_tokens_than_the_memory(name: str, budget: int, evidence: list[str]) -> None:
    answer = ReaderFloor(name, "mine", {"q": budget}).answer("q", UNITS, evidence)
    tokens = estimated_tokens(one.text for one in answer.passages)
    assert tokens <= budget
    texts = {one.id: one.content for one in UNITS}
    assert all(texts[one.source or ""].startswith(one.text) for one in answer.passages)
    if name in ("random", "last"):
        assert tokens == min(budget, 90)
    if name == "oracle":
        assert [one.source for one in answer.passages] == evidence[: len(answer.passages)]


def test_the_ceiling_is_not_known_where_no_evidence_is_named() -> None:
    assert is_unknown("oracle", None, False)
    assert not is_unknown("oracle", ["D1:3"], False)
    # Nothing is what should be returned where there is no answer.
    assert not is_unknown("oracle", None, True)
    assert not is_unknown("last", None, False)


def test_the_tokens_are_those_of_each_question_and_what_failed_has_none() -> None:
    asked = Answer(text="", usage={HANDED_OUT: 12})
    trials = [
        Trial(case_id="a", outcome=Outcome.PASSED, scenario="c", dimension="d", answer=asked),
        Trial(case_id="b", outcome=Outcome.ERROR, scenario="c", dimension="d"),
    ]
    floors = reader_floors("mine", trials)
    assert [one.name for one in floors] == list(READ_FROM)
    assert floors[0].budgets == {"a": 12}
    assert floors[0].digest != floors[0]._replace(budgets={"a": 13}).digest
    with pytest.raises(CaseError, match="it is not known how many tokens the memory returned"):
        floors[1].answer("b", UNITS, [])
