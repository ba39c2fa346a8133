"""Sentences about a run: what its cases asked by that is neither recorded nor replayed."""

from __future__ import annotations

import pytest

from pytest_recall.replay.tape import Mode
from pytest_recall.results.sentences import past_lines

PROGRAMS = "what they ask over the network is neither recorded nor replayed"
CLIENTS = "nothing of it is recorded or replayed"


@pytest.mark.parametrize("mode", ["record", "missing", "replay"])
def test_nothing_is_said_of_nothing(mode: Mode) -> None:
    assert past_lines({}, {}, mode, ["claude"]) == []


def test_a_recording_says_what_a_replay_refuses() -> None:
    programs, clients = {"ls": 2, "claude": 2, "git": 1_200, "curl": 1}, {"primp": 3, "grpc": 1}
    unless = "unless `allow_unrecorded` in rubric.yaml names it"
    assert past_lines(programs, clients, "record", ["grpc"]) == [
        f"programs that cases started: git (1,200), claude (2), ls (2), curl (1); {PROGRAMS}. A replay refuses claude,"
        f" {unless}",
        f"clients that cases asked by: primp (3), grpc (1); {CLIENTS}. A replay refuses primp, {unless}",
    ]


def test_a_replay_says_what_asked_again() -> None:
    again = "As `allow_unrecorded` says, {} asked again, at a cost that is not known"
    assert past_lines({"git": 1, "claude": 2}, {"primp": 3}, "replay", ["claude", "primp", "ollama"]) == [
        f"programs that cases started: claude (2), git (1); {PROGRAMS}. {again.format('claude')}",
        f"clients that cases asked by: primp (3); {CLIENTS}. {again.format('primp')}",
    ]


def test_of_many_programs_the_most_frequent_are_named() -> None:
    (line,) = past_lines({f"tool-{number:02}": 20 - number for number in range(12)}, {}, "replay", ())
    assert line == (
        "programs that cases started: "
        + ", ".join(f"tool-{number:02} ({20 - number})" for number in range(10))
        + f" and 2 more; {PROGRAMS}"
    )
