"""Other forms of a day than text: which calls and which conversations are taken out of a reply."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recall.horizon.day_forms import SavedCall, read_calls, read_turns
from pytest_recall.horizon.salvage import UnreadableReply

TURNS = [{"role": role, "content": f"{role} {n}"} for n in range(3) for role in ("user", "assistant")]


def test_calls_of_the_day_are_taken_and_the_others_told() -> None:
    calls = [
        {"session": "team", "content": "Second."},
        {"session": "principal", "content": " First. "},
        {"session": "deal", "content": "Of another day."},
        {"session": "team", "content": " "},
        {"session": "team", "content": "x", "tool": "memory_delete"},
        "a text",
    ]
    found = read_calls(json.dumps({"calls": calls}), ["principal", "team"])
    assert [call.session for call in found.taken] == ["principal", "team"]
    assert all(isinstance(call, SavedCall) for call in found.taken)
    assert found.dropped == (
        "is in 'deal', which is not a session of the day",
        "has nothing to keep",
        "calls 'memory_delete', and the tool is memorySave",
        "is not a call: a text",
    )


def test_a_reply_without_calls_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="has an object without a list `calls`"):
        read_calls('{"calls": {"session": "team"}}', ["team"])


@pytest.mark.parametrize(
    ("turns", "cut", "said"),
    [
        (TURNS, 3, "breaks off after 5 turns"),
        (TURNS[1:], 0, "begins with the assistant, and not with the user"),
        ([{**turn, "role": "user"} for turn in TURNS], 0, "has 6 turns, and not both of them speak"),
        ([*TURNS, {"role": "user", "content": " "}], 0, "has a turn 7 without a text"),
    ],
)
def test_a_conversation_that_is_none(turns: list[dict[str, Any]], cut: int, said: str) -> None:
    text = json.dumps(turns)
    with pytest.raises(UnreadableReply, match=said):
        read_turns(text[: len(text) - cut])
    assert [turn.content for turn in read_turns(json.dumps(TURNS))] == [turn["content"] for turn in TURNS]
