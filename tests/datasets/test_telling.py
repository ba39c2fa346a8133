"""What a memory is told of a conversation, and what turns and sessions are called then."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_recall.datasets.dataset import Conversation, Question, Session, Utterance
from pytest_recall.datasets.telling import DatasetUnit, Granularity, Telling, in_units, units
from tests.datasets.test_dataset import CONVERSATION


def test_turns_are_told_with_speaker_and_image_and_blank_ones_are_not() -> None:
    assert [(unit.id, unit.text) for unit in units(CONVERSATION)] == [
        ("D1:1", "Ann: Hello!"),
        ("D1:3", "Bob: Look. [image: a cat]"),
        ("D1:4", "Ann: [image: a dog]"),
        ("D3:1", "Bob: Bye."),
    ]


def test_metadata_has_what_is_known() -> None:
    first, *_, last = units(CONVERSATION)
    assert first.metadata == {
        "id": "D1:1",
        "conversation": "conv-1",
        "session": "session_1",
        "date": "2024-03-04T09:12",
        "speaker": "Ann",
    }
    assert last.metadata == {
        "id": "D3:1",
        "conversation": "conv-1",
        "session": "session_3",
        "date_written": "14 days",
        "speaker": "Bob",
    }


def test_sessions_are_told_as_a_whole() -> None:
    first, last = units(CONVERSATION, Telling("session"))
    assert (first.id, first.text) == ("session_1", "Ann: Hello!\nBob: Look. [image: a cat]\nAnn: [image: a dog]")
    assert "speaker" not in first.metadata
    assert (last.id, last.metadata["session"]) == ("session_3", "session_3")


def test_a_turn_is_told_with_the_reply_to_it() -> None:
    def told(*speakers: str) -> list[DatasetUnit]:
        turns = tuple(Utterance(f"D1:{n}", one, "Hm.") for n, one in enumerate(speakers, 1))
        return list(units(Conversation("c", (Session("s1", turns), Session("s2", turns[:1]))), Telling("pair")))

    def ids(*speakers: str) -> list[str]:
        return [one.id for one in told(*speakers)][:-1]

    first, second, *_ = told("Ann", "Bob", "Ann")
    assert (first.id, first.text, first.turns) == ("D1:1+D1:2", "Ann: Hm.\nBob: Hm.", ("D1:1", "D1:2"))
    assert (second.id, second.metadata["speaker"]) == ("D1:3", "Ann")
    assert "speaker" not in first.metadata
    assert ids("Ann", "Ann", "Bob", "Bob") == ["D1:1", "D1:2+D1:3", "D1:4"], "nobody replies to themselves"
    assert ids("assistant", "user", "assistant") == ["D1:1", "D1:2+D1:3"], "an assistant answers a user"
    asked = Conversation(
        "q", (Session("answer_a", (Utterance("a_1", "user", "?"), Utterance("a_2", "assistant", "!"))),), 2
    )
    assert [(one.id, one.metadata["id"]) for one in units(asked, Telling("pair"))] == [("a_1+a_2", "S1:1+S1:2")]


def test_evidence_is_the_pair_that_has_the_turn() -> None:
    told = list(units(CONVERSATION, Telling("pair")))
    assert [one.id for one in told] == ["D1:1+D1:3", "D1:4", "D3:1"]
    question = Question(id="q", text="?", answer="!", category="c", evidence=("D1:3", "D1:1", "D3:1", "D1:2"))
    assert in_units(question, told).evidence == ("D1:1+D1:3", "D3:1", "D1:2"), "what was not told is not found"


@pytest.mark.parametrize("unit", get_args(Granularity))
def test_captions_and_dates_may_be_left_out(unit: Granularity) -> None:
    told = list(units(CONVERSATION, Telling(unit, captions=False, dates=False)))
    text = "\n".join(one.text for one in told)
    assert text == "Ann: Hello!\nBob: Look.\nBob: Bye.", "a turn that is an image alone says nothing then"
    assert not [one for one in told if {"date", "date_written"} & one.metadata.keys()]


def test_ids_that_give_something_away_are_not_told() -> None:
    turns = (Utterance("answer_a_1", "user", "Hello!"), Utterance("answer_a_2", "assistant", "Yes?"))
    asked = Conversation("q_abs", (Session("answer_a", turns), Session("filler", turns[:1])), 3)
    first, second, third = units(asked)
    assert (first.id, first.session, third.session) == ("answer_a_1", "answer_a", "filler")
    assert first.metadata == {"id": "S1:1", "conversation": "C3", "session": "S1", "speaker": "user"}
    assert (second.metadata["id"], third.metadata["id"]) == ("S1:2", "S2:1")
    sessions = [(one.id, one.metadata["id"]) for one in units(asked, Telling("session"))]
    assert sessions == [("answer_a", "S1"), ("filler", "S2")]
    odd = Conversation("q", (Session("S2", turns), Session("SS1", turns)), 1)
    assert {one.metadata["session"] for one in units(odd)} == {"SSS1", "SSS2"}, "none is that of another session"
