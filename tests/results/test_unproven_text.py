"""The words for why an outcome counts for nothing."""

from __future__ import annotations

from pytest_recall.results.unproven_text import unproven_text
from pytest_recall.trials.trial import Outcome, WeighedTrials
from tests.helpers.samples import WEAK, trial


def test_judges_that_are_not_calibrated_or_agree_too_little() -> None:
    one = trial("a", Outcome.FAILED, unproven=(WEAK, WEAK._replace(model="n", kappa=0.414)))
    assert unproven_text(one) == (
        "judge rubric, m, version v1 is not calibrated; judge rubric, n, version v1 has a kappa of 0.414, below 0.6"
    )


def test_a_fail_that_is_not_confirmed() -> None:
    weighed = WeighedTrials((False, True, True, True), 70, unconfirmed=True)
    one = trial("a", Outcome.FAILED, weighed=weighed, rule="evidence 70 from 1.00, 3 of 100 failed")
    assert unproven_text(one) == "not confirmed: failed 1 of 4; it had passed 97 of 100"


def test_an_outcome_that_counts() -> None:
    assert unproven_text(trial("a", Outcome.FAILED)) == ""
