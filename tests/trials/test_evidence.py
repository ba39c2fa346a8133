"""Evidence of a memory: the ids of the passages that came back, as evidence names them."""

from __future__ import annotations

import pytest

from pytest_recall.cases.memory_part import Unit
from pytest_recall.trials.evidence import names_of, ranked
from pytest_recall.trials.trial import Passage

UNITS = (
    Unit(id="s1/1", content="Ada moved to Rome", metadata={"session": "s1"}),
    Unit(id="s1/2", content="She has a cat", metadata={"session": "s1"}),
    Unit(id="s2/1", content="It rained", metadata={"session": "s2"}),
    Unit(id="note", content="Her birthday is in May"),
)


@pytest.mark.parametrize(
    ("evidence", "names"),
    [
        (["s1/2"], {"s1/1": "s1/1", "s1/2": "s1/2", "s2/1": "s2/1", "note": "note"}),
        (["elsewhere"], {"s1/1": "s1/1", "s1/2": "s1/2", "s2/1": "s2/1", "note": "note"}),
        (["s1"], {"s1/1": "s1", "s1/2": "s1", "s2/1": "s2", "note": "note", "s1": "s1", "s2": "s2"}),
    ],
)
def test_a_unit_is_named_as_the_evidence_is(evidence: list[str], names: dict[str, str]) -> None:
    assert names_of(UNITS, evidence) == names


@pytest.mark.parametrize(
    ("evidence", "passages", "ids"),
    [
        (["s1/2"], [("x", "s2/1"), ("x", "s1/2")], ["s2/1", "s1/2"]),
        (["s1"], [("x", "s2/1"), ("x", "s1/2"), ("x", "s1")], ["s2", "s1", "s1"]),
        # By its text where the source says nothing; of a unit that is no evidence the text says nothing either.
        (["s1/2"], [("It rained", None), ("Then: She has a cat.", None), ("a cat", None)], ["?1", "s1/2", "?3"]),
        (["s1/2"], [("x", "page 4")], None),
        (["s1/2"], [], []),
    ],
)
def test_passages_have_the_ids_that_evidence_could_name(
    evidence: list[str], passages: list[tuple[str, str | None]], ids: list[str] | None
) -> None:
    found = [Passage(text=text, source=source) for text, source in passages]
    assert ranked(found, UNITS, evidence) == ids
