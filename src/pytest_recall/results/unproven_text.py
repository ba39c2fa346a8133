"""Word why an outcome counts for nothing."""

from __future__ import annotations

from pytest_recall.trials.series import parse_rule
from pytest_recall.trials.trial import Trial, WeakJudge


def unproven_text(trial: Trial) -> str:
    """Return why the outcome of a trial counts for nothing; empty if it counts."""
    if trial.unproven:
        return "; ".join(map(weak_judge_text, trial.unproven))
    return unconfirmed_text(tries_text(trial)) if trial.is_doubted else ""


def weak_judge_text(judge: WeakJudge) -> str:
    """Return which judge falls short of the kappa that is asked for, and by how much."""
    from pytest_recall.judges.calibration import shortfall  # of most runs no model judges

    lacks = "is not calibrated" if judge.kappa is None else shortfall(judge.kappa, judge.needed)
    return f"judge {judge.judge}, {judge.model}, version {judge.version} {lacks}"


def unconfirmed_text(summary: str) -> str:
    """Return that a fail is not confirmed, and how its trials went."""
    return f"not confirmed: {summary}"


def tries_text(trial: Trial) -> str:
    """Return how many of the trials failed that a grade by evidence rests on, and how the case did before."""
    passes = () if trial.weighed is None else trial.weighed.passes
    return parse_rule(trial.rule).summary(passes.count(False), len(passes))
