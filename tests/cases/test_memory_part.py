"""What a case gives a memory, and the units it comes to."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import MemoryPart, QueryContext, Unit

SESSIONS = {
    "sessions": [
        {"id": "s1", "date": "2026-05-01", "turns": [{"speaker": "A", "text": "one"}, {"speaker": "B", "text": "two"}]},
        {"id": "s2", "turns": [{"speaker": "A", "text": "three", "id": "t"}]},
    ]
}


def part(**given: Any) -> MemoryPart:
    return MemoryPart.model_validate(given)


def case(**given: Any) -> Case:
    plain = {"id": "a", "scenario": "s", "dimension": "d", "input": "who?", "judges": ["exact"]}
    return Case.model_validate({**plain, **given})


def test_facts_are_stored_as_they_stand() -> None:
    facts = ["one", {"id": "b", "text": "two", "metadata": {"topic": "x"}}]
    assert part(facts=facts).units == (
        Unit(id="fact-1", content="one", metadata={"id": "fact-1"}),
        Unit(id="b", content="two", metadata={"topic": "x", "id": "b"}),
    )


def test_turns_are_stored_with_their_speaker_and_know_their_session() -> None:
    assert part(**SESSIONS).units == (
        Unit(
            id="s1:1",
            content="A: one",
            metadata={"session": "s1", "date": "2026-05-01", "speaker": "A", "id": "s1:1"},
        ),
        Unit(
            id="s1:2",
            content="B: two",
            metadata={"session": "s1", "date": "2026-05-01", "speaker": "B", "id": "s1:2"},
        ),
        Unit(id="t", content="A: three", metadata={"session": "s2", "speaker": "A", "id": "t"}),
    )


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"facts": ["a"], "sessions": SESSIONS["sessions"]},
        {"facts": []},
        {"facts": [""]},
        {"facts": [3]},
        {"facts": ["a"], "extra": 1},
        {"facts": [{"text": "a", "metadata": {"id": "b"}}]},
        {"facts": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
        {"facts": ["x", {"id": "fact-1", "text": "y"}]},
        {"sessions": [{"id": "s", "turns": []}]},
        {"sessions": [{"id": "s", "turns": [{"speaker": "A", "text": "x", "id": "s"}]}]},
    ],
)
def test_what_is_ambiguous_or_empty_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        part(**given)


def test_the_key_is_of_what_is_stored() -> None:
    same = part(facts=["a", "b"]).key
    assert part(facts=[{"text": "a"}, {"id": "fact-2", "text": "b"}]).key == same
    for other in (["b", "a"], ["a"], ["a", {"id": "c", "text": "b"}], ["a", {"text": "b", "metadata": {"x": "y"}}]):
        assert part(facts=other).key != same


@pytest.mark.parametrize(
    "given",
    [
        {"limit": 3},
        {"context": {"date": "2026-05-01"}},
        {"memory": {"facts": ["a"]}, "input": {"x": 1}},
        {"memory": {"facts": ["a"]}, "input": None, "turns": ["who?"]},
        {"memory": {"facts": ["a"]}, "limit": 0},
        {"memory": {"facts": ["a"]}, "limit": 10_001},
        {"memory": {"facts": ["a"]}, "context": {"day": "x"}},
        {"evidence": []},
    ],
)
def test_a_case_that_asks_no_memory_well_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        case(**given)


def test_the_context_is_what_a_client_is_told() -> None:
    given = case(memory={"facts": ["a"]}, context={"session": "s", "checkpoint": "c"})
    assert given.context is not None
    assert given.context.context == QueryContext(session="s", checkpoint="c")
    assert given.context.context.to_json() == {"session": "s", "checkpoint": "c"}


def test_the_fingerprint_changes_with_all_that_decides() -> None:
    cases = [
        case(),
        case(evidence=["x"]),
        case(memory={"facts": ["a"]}),
        case(memory={"facts": ["b"]}),
        case(memory={"facts": ["a"]}, limit=3),
        case(memory={"facts": ["a"]}, context={"date": "2026-05-01"}),
        case(memory={"facts": ["a"]}, evidence=["x"]),
    ]
    assert len({one.fingerprint for one in cases}) == len(cases)


def test_the_fingerprint_of_other_cases_is_what_it_was() -> None:
    assert case().fingerprint == "2b22a77fe572"
