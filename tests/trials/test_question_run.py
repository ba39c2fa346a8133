"""The journal of a run without pytest: it begins at its first line, and has an end however the run ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError, StoppedError
from pytest_recall.replay.budget import SpentBudget
from pytest_recall.replay.exchange import Call
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.memory_calls import MemoryModelCalls
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Header
from pytest_recall.trials.run_stop import RunStop, SpentError
from tests.trials.test_memory_calls import listening, player

__all__ = ["listening", "player"]
HEADER = Header(
    "r", "2026-03-01", "all", "", "2026-03-01T00:00:00+00:00", False, False, 1, (("q", "dataset"),), budget=2.5
)
CALL = Call("judge", "live", cost=0.5)
KEY = "sk-proj-Zq7Wm3Kp9Xv2Rt5Yb8Nc4Ld6Hf1Jg0Sa"


def broken(folder: Path, error: BaseException) -> None:
    """Begin a run that an exception ends."""
    with QuestionRun(folder, HEADER) as run:
        assert run.begin() is run.begin()
        raise error


def test_a_run_that_writes_nothing_leaves_nothing(tmp_path: Path) -> None:
    with QuestionRun(tmp_path / "run", HEADER) as run:
        run.end(0)
    assert not (tmp_path / "run").exists()


def test_ctrl_c_is_the_end_of_one_that_has_begun(tmp_path: Path) -> None:
    with pytest.raises(StoppedError, match=r"^\S+: stopped; the same command resumes it$"):
        broken(tmp_path, KeyboardInterrupt())
    record = read_journal(tmp_path)
    assert (record.exit_code, record.stop) == (130, RunStop("interrupted"))


def test_an_error_is_the_end_of_one_without_its_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with pytest.raises(RecallError, match=KEY):
        broken(tmp_path, RecallError(f"refused: {KEY}"))
    record = read_journal(tmp_path)
    assert (record.exit_code, record.stop) == (2, RunStop("error", "refused: [OPENAI_API_KEY]"))


def test_a_run_that_is_resumed_has_the_budget_of_its_command(tmp_path: Path) -> None:
    with QuestionRun(tmp_path, HEADER) as run:
        run.begin()
    with QuestionRun(tmp_path, HEADER._replace(budget=4.0)) as run:
        run.begin()
        run.end(0)
    record = read_journal(tmp_path)
    assert (record.header.budget, len(record.resumed), record.exit_code) == (4.0, 1, 0)


def test_a_judge_that_must_not_judge_ends_the_run_and_what_it_has_cost_is_written(
    tmp_path: Path, listening: MemoryModelCalls
) -> None:
    def ready() -> None:
        listening.beside(CALL)
        raise RecallError("misjudges")

    with QuestionRun(tmp_path, HEADER) as run, pytest.raises(RecallError, match="misjudges"):
        run.try_judges(ready, listening)
    record = read_journal(tmp_path)
    assert (record.exit_code, record.stop, record.calls) == (2, RunStop("preflight", "misjudges"), (CALL,))


def test_one_that_cannot_be_paid_for_is_why_nothing_is_asked(tmp_path: Path, listening: MemoryModelCalls) -> None:
    def ready() -> None:
        raise SpentError(SpentBudget(2.5, is_spent=True))

    with QuestionRun(tmp_path, HEADER) as run:
        stop = run.try_judges(ready, listening)
        assert stop == RunStop("budget", kind="spent", usd=2.5)
        run.end(2, stop)
    assert read_journal(tmp_path).stop == stop


def test_a_judge_that_judges_writes_nothing(tmp_path: Path, listening: MemoryModelCalls) -> None:
    with QuestionRun(tmp_path / "run", HEADER) as run:
        assert run.try_judges(lambda: None, listening) is None
    assert not (tmp_path / "run").exists()
