"""Asking without pytest: what comes of it is without the secrets of the environment."""

from __future__ import annotations

import pytest

from pytest_recall.files.errors import CaseError
from pytest_recall.trials.drive import IN_A_ROW, Driver
from pytest_recall.trials.execution import Result, TrialCase, make_trial
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Answer, Outcome, Passage, Trial

KEY = "sk-proj-Zq7Wm3Kp9Xv2Rt5Yb8Nc4Ld6Hf1Jg0Sa"


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def answered() -> Trial:
    answer = Answer(text=f"it is {KEY}", passages=(Passage(text=f"key: {KEY}", source="a"), Passage(text="b")))
    return make_trial(TrialCase("a"), Result(Outcome.PASSED, answer))


def broken() -> Trial:
    return make_trial(TrialCase("b"), Result.no_verdict(CaseError("agent", f"refused: {KEY}")))


@pytest.mark.parametrize("threads", [1, 2])
def test_no_trial_has_a_secret(threads: int) -> None:
    with Driver(threads=threads) as driver:
        found = {trial.case_id: trial for trial in driver.ask([answered, broken])}
    assert found["a"].answer == Answer(
        text="it is [OPENAI_API_KEY]",
        passages=(Passage(text="key: [OPENAI_API_KEY]", source="a"), Passage(text="b")),
    )
    assert found["b"].error.endswith("refused: [OPENAI_API_KEY]")


def test_nor_has_what_stopped_a_run() -> None:
    with Driver() as driver:
        assert len(list(driver.ask([broken] * 2 * IN_A_ROW))) == IN_A_ROW
    assert driver.stop == RunStop("undecided", "agent: refused: [OPENAI_API_KEY]", IN_A_ROW)


def test_what_takes_secrets_out_may_be_given() -> None:
    with Driver(redact=lambda text: text.replace(KEY, "…")) as driver:
        assert [trial.error for trial in driver.ask([broken])] == ["agent: refused: …"]
