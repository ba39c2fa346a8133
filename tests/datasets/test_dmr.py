"""DMR: what becomes of its fields."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.datasets.dataset import Kind, Sample
from pytest_recall.datasets.file import open_dataset
from pytest_recall.files.errors import RecallError
from tests.datasets.files import load, odd, plain, text_of

Read = Callable[[Any], list[Sample]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return lambda rows: load(tmp_path / "d.jsonl", "dmr", rows)


def test_a_question_and_its_chats(read: Read) -> None:
    samples = read(plain("dmr"))
    sample = samples[0]
    (question,) = sample.questions
    assert (question.id, question.answer) == ("dmr-1", "The snapdragon.")
    assert question.text == "Hey, what did you say was your own favourite flower?"
    assert question.category == "deep-memory-retrieval"
    sessions = sample.conversation.sessions
    assert [(session.id, session.date, session.written) for session in sessions] == [
        ("S1", None, "14 days"),
        ("S2", None, "2 days"),
        ("S3", None, ""),
    ]
    assert [(turn.id, turn.speaker) for turn in sessions[0].turns] == [
        ("S1:1", "Speaker 1"),
        ("S1:2", "Speaker 2"),
        ("S1:3", "Speaker 1"),
        ("S1:4", "Speaker 2"),
    ]
    assert odd(samples) == []


def test_a_turn_that_names_its_speaker_is_believed(read: Read) -> None:
    rows = plain("dmr")
    for turn, speaker in zip(rows[0]["dialog"], ("Speaker 2", "bot_0"), strict=True):
        turn["id"] = speaker
    assert [turn.speaker for turn in read(rows)[0].conversation.sessions[-1].turns] == ["Speaker 2", "Speaker 2"]


def test_blank_lines_are_passed_over_and_counted(tmp_path: Path) -> None:
    lines = text_of("dmr", plain("dmr")).splitlines()
    path = tmp_path / "d.jsonl"
    path.write_bytes("\ufeff{}\r\n\r\n{}\r\n".format(*lines[:2]).encode())
    assert [sample.row for sample in open_dataset(path).samples()] == [1, 3]


def test_oddities(read: Read) -> None:
    rows = plain("dmr")
    rows[1]["self_instruct"]["A"] = " "
    rows[1]["dialog"][0]["text"] = ""
    assert [(oddity.kind, oddity.place) for oddity in odd(read(rows))] == [
        (Kind.BLANK, "row 2 (dmr-2): dialog[1]"),
        (Kind.NO_ANSWER, "row 2 (dmr-2): self_instruct.A"),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda row: row.update(self_instruct=["q", "a"]),
            "row 2: self_instruct: expected the question `B` and its answer `A`, found a list",
        ),
        (lambda row: row["self_instruct"].pop("B"), "row 2 (dmr-2): self_instruct.B: expected text, found nothing"),
        (
            lambda row: row["previous_dialogs"][1].pop("dialog"),
            "row 2 (dmr-2): previous_dialogs[2].dialog: expected a list of turns, found nothing",
        ),
        (
            lambda row: row.update(dialog=[], previous_dialogs=[]),
            "row 2 (dmr-2): dialog: expected chats with turns, found an empty list",
        ),
    ],
)
def test_a_row_that_does_not_fit(change: Callable[[Any], Any], said: str, read: Read) -> None:
    rows = plain("dmr")
    change(rows[1])
    with pytest.raises(RecallError) as raised:
        read(rows)
    assert raised.value.messages == (f"file: {said}",)
