"""Tests of horizon.passes.work."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_recall.horizon.passes.work import PassProgress, Whole, Work
from pytest_recall.models.model import ModelError, Reply
from pytest_recall.models.resolve import resolve
from pytest_recall.replay.exchange import Tokens
from tests.helpers.scripted import Scripted


def test_what_was_paid_for_is_there_after_a_kill(tmp_path: Path) -> None:
    model = Scripted(Reply(text="one", tokens=Tokens(input=10, output=2)), "two")
    kept = tmp_path / "replies.jsonl"

    first = [Work(model, kept).ask("s", text, max_tokens=9, temperature=None).text for text in ("a", "b")]
    again = Work(Scripted(ModelError("no model may be asked")), kept)
    second = [again.ask("s", text, max_tokens=9, temperature=None).text for text in ("a", "b")]

    assert first == second == ["one", "two"]
    assert again.bought == []


def test_what_is_asked_otherwise_is_asked_anew(tmp_path: Path) -> None:
    work = Work(Scripted("one", "two", "three"), tmp_path / "replies.jsonl")

    told = [
        work.ask("s", "a", max_tokens=most, temperature=heat).text for most, heat in ((9, None), (8, None), (9, 0.5))
    ]

    assert told == ["one", "two", "three"]
    assert len(work.bought) == 3


def test_jobs_run_at_once_and_come_back_in_their_order() -> None:
    meeting = threading.Barrier(3, timeout=10)

    def do(job: int) -> int:
        meeting.wait()
        if job == 1:
            raise ModelError("is away")
        return job

    found = Work(Scripted(""), None, concurrency=3).each([0, 1, 2], do)

    assert [one if isinstance(one, int) else str(one) for one in found] == [0, "is away", 2]


def test_another_error_ends_the_pass() -> None:
    def do(job: int) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Work(Scripted(""), None, concurrency=2).each([0, 1, 2], do)


def test_progress_is_a_line_for_each_tenth_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    progress = PassProgress("day", 40)
    for _ in range(40):
        progress.step()

    lines = capsys.readouterr().err.splitlines()

    assert len(lines) == 10
    assert lines[0] == "recall: day 4 of 40"
    assert lines[-1] == "recall: day 40 of 40"


def test_a_model_that_was_edited_is_asked_again(tmp_path: Path) -> None:
    kept, own = tmp_path / "replies.jsonl", tmp_path / "own.py"

    def reply() -> str:
        model = Whole(resolve("python:own.py:model", root=tmp_path))
        return Work(model, kept).ask("s", "a", max_tokens=9, temperature=None).text

    own.write_text("def model(prompt): return 'one'\n")
    assert reply() == "one"
    own.write_text("def model(prompt): return 'another'\n")
    assert reply() == "another"
    own.write_text("def model(prompt): return 'one'\n")
    assert reply() == "one"
    assert len(kept.read_text().splitlines()) == 2
