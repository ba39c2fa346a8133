"""What a memory is told of a conversation, and what turns and sessions are called then."""

from __future__ import annotations

from datetime import datetime

from pytest_recall.datasets.dataset import Conversation, Session, Utterance
from pytest_recall.datasets.telling import units

CONVERSATION = Conversation(
    "conv-1",
    (
        Session(
            "session_1",
            (
                Utterance("D1:1", "Ann", " Hello! "),
                Utterance("D1:2", "Bob", "  "),
                Utterance("D1:3", "Bob", "Look.", "a cat"),
                Utterance("D1:4", "Ann", "", "a dog"),
            ),
            datetime(2024, 3, 4, 9, 12),
            "9:12 am on 4 March, 2024",
        ),
        Session("session_2", (Utterance("D2:1", "Ann", ""),)),
        Session("session_3", (Utterance("D3:1", "Bob", "Bye."),), None, "14 days"),
    ),
)


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
    first, last = units(CONVERSATION, "session")
    assert (first.id, first.text) == ("session_1", "Ann: Hello!\nBob: Look. [image: a cat]\nAnn: [image: a dog]")
    assert "speaker" not in first.metadata
    assert (last.id, last.metadata["session"]) == ("session_3", "session_3")


def test_ids_that_give_something_away_are_not_told() -> None:
    turns = (Utterance("answer_a_1", "user", "Hello!"), Utterance("answer_a_2", "assistant", "Yes?"))
    asked = Conversation("q_abs", (Session("answer_a", turns), Session("filler", turns[:1])), 3)
    first, second, third = units(asked)
    assert (first.id, first.session, third.session) == ("answer_a_1", "answer_a", "filler")
    assert first.metadata == {"id": "S1:1", "conversation": "C3", "session": "S1", "speaker": "user"}
    assert (second.metadata["id"], third.metadata["id"]) == ("S1:2", "S2:1")
    assert [(one.id, one.metadata["id"]) for one in units(asked, "session")] == [("answer_a", "S1"), ("filler", "S2")]
    odd = Conversation("q", (Session("S2", turns), Session("SS1", turns)), 1)
    assert {one.metadata["session"] for one in units(odd)} == {"SSS1", "SSS2"}, "none is that of another session"
