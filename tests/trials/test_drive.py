"""Asking without pytest: what comes of it is written, without the secrets of the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from pytest_recall.files.errors import CaseError, RecallError
from pytest_recall.trials.drive import IN_A_ROW, AskQuestion, Driver
from pytest_recall.trials.execution import Result, TrialCase, make_trial
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.question_run import QuestionRun
from pytest_recall.trials.record import Header
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial

HEADER = Header("r", "2026-03-01", "all", "", "2026-03-01T00:00:00+00:00", False, False, 2, (("a", "x"), ("b", "x")))
KEY = "sk-proj-Zq7Wm3Kp9Xv2Rt5Yb8Nc4Ld6Hf1Jg0Sa"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def answered() -> Trial:
    answer = Answer(text=f"it is {KEY}", passages=(Passage(text=f"key: {KEY}", source="a"), Passage(text="b")))
    return make_trial(TrialCase("a"), Result(Outcome.PASSED, answer))


def broken() -> Trial:
    return make_trial(TrialCase("b"), Result.no_verdict(CaseError("agent", f"refused: {KEY}")))


def asked(
    folder: Path,
    *questions: AskQuestion,
    threads: int = 1,
    redact: Callable[[str], str] | None = None,
    rest: Callable[[], Iterable[Trial]] | None = None,
) -> tuple[dict[str, Trial], list[Trial], RunStop | None]:
    """Return the trials that are handed out, by their cases, those that are written, and why the others are not."""
    found = dict[str, Trial]()
    with QuestionRun(folder, HEADER, redact=redact) as run:
        with Driver(run, None, total=len(questions), left=len(questions), threads=threads) as driver:
            driver.ask(questions, lambda trial: found.update({trial.case_id: trial}), rest)
        run.end(0)
    return found, list(read_journal(folder).trials), driver.stop


@pytest.mark.parametrize("threads", [1, 2])
def test_no_trial_has_a_secret(tmp_path: Path, threads: int) -> None:
    found, written, stop = asked(tmp_path, answered, broken, threads=threads)
    assert (written, stop) == ([*found.values()], None)
    assert found["a"].answer == Answer(
        text="it is [OPENAI_API_KEY]",
        passages=(Passage(text="key: [OPENAI_API_KEY]", source="a"), Passage(text="b")),
    )
    assert found["b"].error.endswith("refused: [OPENAI_API_KEY]")


def test_nor_has_what_stopped_a_run(tmp_path: Path) -> None:
    _, written, stop = asked(tmp_path, *[broken] * 2 * IN_A_ROW)
    assert len(written) == IN_A_ROW
    assert stop == RunStop("undecided", "agent: refused: [OPENAI_API_KEY]", IN_A_ROW)


def test_what_takes_secrets_out_may_be_given(tmp_path: Path) -> None:
    found, _, _ = asked(tmp_path, broken, redact=lambda text: text.replace(KEY, "…"))
    assert found["b"].error == "agent: refused: …"


def test_what_had_begun_is_taken_where_an_error_ends_it(tmp_path: Path) -> None:
    def gone() -> Trial:
        raise RecallError("gone")

    with pytest.raises(RecallError, match="gone"):
        asked(tmp_path, gone, rest=lambda: [answered()])
    assert [trial.case_id for trial in read_journal(tmp_path).trials] == ["a"]
