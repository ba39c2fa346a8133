"""What is wrong in a persona and its story, before a day is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from pytest_recall.horizon.consistency import story_findings, unknown_keys
from pytest_recall.horizon.persona import Persona, Story
from tests.helpers.stories import PERSONA, STORY, arc, persona, stories, story


def test_the_museum_is_consistent() -> None:
    assert story_findings(persona(), story()) == []
    assert [*unknown_keys(PERSONA, Persona, "persona"), *unknown_keys(STORY, Story, "arcs")] == []


@pytest.mark.parametrize(
    ("given", "severity", "rule", "path", "words"),
    [
        ({"startDay": 9, "endDay": 3}, "error", "range", ("endDay",), "endDay 3 is before startDay 9; swap them"),
        (
            {"directives": [{"day": 8, "event": "x"}]},
            "error",
            "directive",
            ("directives", 0, "day"),
            "outside of 1 to 5",
        ),
        ({"primarySession": None}, "warning", "unwritten", (), "no primarySession"),
        ({"primarySession": "teem"}, "error", "undeclared", ("primarySession",), "did you mean `team`?"),
        ({"referencedSessions": ["hall"]}, "error", "undeclared", ("referencedSessions",), "'hall' is not a session"),
        ({"referencedSessions": ["principal"]}, "warning", "reference", ("referencedSessions",), "its own session"),
        ({"participants": ["Ben Carvr"]}, "warning", "participant", ("participants", 0), "did you mean `Ben Carver`?"),
        ({"type": "correction"}, "error", "correction", (), "without wrongDay and correctedDay and wrongBelief"),
        ({"wrongDay": 2}, "warning", "correction", ("type",), "make it `correction`"),
    ],
)
def test_an_arc_is_told_what_is_wrong_with_it(
    given: dict[str, Any], severity: str, rule: str, path: tuple[str | int, ...], words: str
) -> None:
    (found,) = story_findings(persona(), story(arc("new", **{"primarySession": "principal", **given})))
    assert (found.severity, found.rule, found.source, found.path) == (severity, rule, "arcs", ("arcs", 0, *path))
    assert found.message.startswith("new: ")
    assert words in found.message


@pytest.mark.parametrize(
    ("wrong", "corrected", "words"),
    [
        (4, 4, "wrongDay 4 is not before correctedDay 4"),
        (5, 3, "wrongDay 5 is not before correctedDay 3"),
        (1, 5, "wrongDay is 1, outside of 2 to 10"),
        (2, 11, "correctedDay is 11, outside of 2 to 10"),
    ],
)
def test_a_correction_is_wrong_first_and_both_within_its_arc(wrong: int, corrected: int, words: str) -> None:
    (found,) = story_findings(persona(), story(arc("opening", wrongDay=wrong, correctedDay=corrected)))
    assert found.severity == "error"
    assert words in found.message


def test_a_session_is_open_while_its_arcs_run() -> None:
    told = story(sessions=[{"id": "deal", "firstDay": 5, "lastDay": 9}, {"id": "hall"}])
    assert [(one.rule, one.path) for one in story_findings(persona(), told)] == [
        ("undeclared", ("sessions", 1, "id")),
        ("closed", ("arcs", 2, "primarySession")),
    ]


def test_a_session_that_ends_before_it_begins_is_found_in_both_files() -> None:
    sessions = [{**one, "firstDay": 9, "lastDay": 2} if one["id"] == "team" else one for one in PERSONA["sessions"]]
    told = story(arc("x", primarySession="principal"), sessions=[{"id": "deal", "firstDay": 3, "lastDay": 1}])
    found = story_findings(persona(sessions=sessions), told)
    assert [(one.source, one.rule) for one in found] == [("persona", "range"), ("arcs", "range")]


def test_what_is_there_twice_is_found() -> None:
    twice = story(arc("a", primarySession="team"), arc("a", primarySession="team"))
    (found,) = story_findings(persona(), twice)
    assert (found.rule, found.path) == ("duplicate", ("arcs", 1, "id"))
    cast = [{"name": "Ben Carver"}, {"name": "Ben Carver"}, {"name": "Cleo Dane"}]
    (found,) = story_findings(persona(cast=cast), story())
    assert (found.rule, found.path) == ("duplicate", ("cast", 1, "name"))


def test_a_session_has_no_space_in_its_name_and_nobody_unknown_in_it() -> None:
    sessions = [*PERSONA["sessions"], {"id": "main hall", "participants": ["Ada Brook", "Zoe"]}]
    found = story_findings(persona(sessions=sessions), story())
    assert [(one.rule, one.path) for one in found] == [
        ("session-id", ("sessions", 3, "id")),
        ("participant", ("sessions", 3, "participants", 1)),
    ]


def test_a_story_without_arcs_is_an_error() -> None:
    (found,) = story_findings(persona(), Story())
    assert found.message == "arcs: there are none, so that nothing happens; write some"


def test_keys_that_nobody_reads_are_found_at_any_depth() -> None:
    plain = {"epoch": "2026-01-01", "maxConcurrent": 4, "arcs": [{"id": "a", "forbiddenSesions": [], "startDay": 1}]}
    found = list(unknown_keys(plain, Story, "arcs"))
    assert [(one.severity, one.path) for one in found] == [
        ("warning", ("maxConcurrent",)),
        ("warning", ("arcs", 0, "forbiddenSesions")),
    ]
    (found_one,) = unknown_keys({"sharedKnowlege": []}, Persona, "persona")
    assert "did you mean `sharedKnowledge`?" in found_one.message


@settings(deadline=None, database=None)
@given(stories())
def test_whatever_the_story_each_finding_has_a_place_in_it(told: Story) -> None:
    for found in story_findings(persona(), told):
        value: Any = {"arcs": told.arcs, "sessions": told.sessions}
        key, *rest = found.path
        value = value[key]
        if rest:
            assert isinstance(rest[0], int)
            assert value[rest[0]] is not None
