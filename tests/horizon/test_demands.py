"""What a new persona and its story must have."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.horizon.consistency import demands_of, persona_problems, story_problems
from pytest_recall.horizon.persona import Persona, Story
from tests.helpers.ferries import FERRIES, ferry_story

WHO = Persona.model_validate(FERRIES)


def plain() -> dict[str, Any]:
    """Return a story of sixty days that can be taken, as plain values."""
    return ferry_story()


def test_a_whole_persona_and_its_story_lack_nothing() -> None:
    assert persona_problems(WHO) == []
    assert story_problems(WHO, Story.model_validate(plain()), 60) == []


def test_a_long_story_has_more_than_a_short_one() -> None:
    short, long = demands_of(60), demands_of(1000)
    assert (short.arcs, short.quiet, long.arcs, long.quiet) == (8, 3, 18, 10)
    assert all(long.types[kind] > short.types[kind] for kind in short.types)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"principal": None}, "principal: is missing"),
        ({"sessions": ()}, "there is none with the id 'principal'"),
        ({"cast": ()}, "cast: has 0, and at least 4 are wanted"),
        ({"projects": ()}, "projects: has 0"),
        ({"shared_knowledge": ()}, "sharedKnowledge: has 0"),
    ],
)
def test_a_persona_is_told_what_it_lacks(given: dict[str, Any], words: str) -> None:
    assert any(words in one for one in persona_problems(WHO.model_copy(update=given)))


def test_a_persona_needs_a_session_of_its_principal_and_an_isolated_one_with_topics() -> None:
    open_ones = tuple(one for one in WHO.sessions if not one.isolated)
    assert persona_problems(WHO.model_copy(update={"sessions": open_ones})) == [
        "sessions: none has `isolated: true`, beside the principal's; make one so"
    ]
    bare = tuple(one.model_copy(update={"sensitive_topics": ()}) for one in WHO.sessions)
    assert len(persona_problems(WHO.model_copy(update={"sessions": bare}))) == 2
    first = WHO.sessions[0].model_copy(update={"participants": ()})
    assert (
        "is not a participant of 'principal'"
        in persona_problems(WHO.model_copy(update={"sessions": (first, *WHO.sessions[1:])}))[0]
    )


def changed(**given: Any) -> list[str]:
    """Return what is wrong with a story whose arcs all have these fields."""
    told = plain()
    return story_problems(WHO, Story.model_validate({**told, "arcs": [{**one, **given} for one in told["arcs"]]}), 60)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"primarySession": "principal"}, "100% have the primarySession 'principal'"),
        ({"primarySession": "principal"}, "none has the primarySession 'heron', which is isolated"),
        ({"directives": []}, "0 have directives, and at least 5 are wanted"),
        ({"referencedSessions": []}, "0 have referencedSessions"),
        ({"endDay": 90}, "endDay 90 is after the last day, 60"),
        ({"startDay": 1, "endDay": 60}, "more than one runs on all but 0 days in a row; leave 3"),
        ({"type": "project"}, "0 are of type 'incident'"),
        ({"wrongBelief": "It is 7"}, "says what is corrected"),
        ({"primarySession": None}, "has no primarySession"),
    ],
)
def test_a_story_is_told_what_it_lacks(given: dict[str, Any], words: str) -> None:
    assert [one for one in changed(**given) if words in one] != []


def test_a_correction_corrects_something() -> None:
    told = plain()
    for one in told["arcs"]:
        if one["type"] == "correction":
            one["correctedBelief"] = one["wrongBelief"]
    found = story_problems(WHO, Story.model_validate(told), 60)
    assert [one.partition(": ")[2] for one in found] == [
        "wrongBelief and correctedBelief are the same; change one of them"
    ] * 3
