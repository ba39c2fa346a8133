"""Compute the pass rates by judging models, corrected for their errors where people have labelled answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.judges.judge_identity import JudgingRules, identity, rules_of
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.rectified import RectifiedRate, differs, rectified, shortage
from pytest_recall.trials.trial import Trial, Verdict


class JudgedRate(NamedTuple):
    """How many of a run's answers a judge passed."""

    judge: JudgeKey
    answers: int
    """How many there are; an answer is the first of its case that came to a verdict."""
    passed: int
    labels: Confusion | None = None
    """What the judge's errors are taken out by."""
    rectified: RectifiedRate | None = None
    """The rate with these errors taken out, at the level that was asked for; None where it is not corrected."""
    why: str = ""
    """Why it is not corrected, in words."""
    differs: bool = False
    """Whether the judge passes another share of the labelled answers than of these."""
    groups: int | None = None
    """How many groups of answers there are, where those of one may be alike; None where each answer is one of its
    own."""

    @property
    def rate(self) -> float:
        """The share of the answers that the judge passed, 0..1."""
        return self.passed / self.answers


def judged_rates(
    trials: Iterable[Trial],
    known: Mapping[JudgeKey, Calibration],
    settings: Mapping[str, Any] = MappingProxyType({}),
    confidence: float = 0.95,
    group_of: Callable[[Trial], str] = lambda trial: trial.case_id,
) -> tuple[JudgedRate, ...]:
    """Return the rate of each judging model in the `trials` of the agent under test, by judge; none without any.

    `known` are the calibrations that there are, `settings` those in the header of the run. Answers of
    one group, as `group_of` tells it, may be alike.
    """
    every = [trial for trial in trials if not trial.arm]
    rules = rules_of(settings, every)
    passed: dict[JudgeKey, list[tuple[str, bool]]] = {}
    for trial in _first(every):
        for key, verdict in _by_judge(trial, rules).items():
            passed.setdefault(key, []).append((group_of(trial), bool(verdict.passed)))
    return tuple(_rate(key, passed[key], known.get(key), rules, confidence) for key in sorted(passed))


def _first(trials: Iterable[Trial]) -> Iterable[Trial]:
    """Return the first trial of each case that came to a verdict: whether there is another depends on that one."""
    found: dict[str, Trial] = {}
    for trial in trials:
        if trial.outcome.is_verdict:
            found.setdefault(trial.case_id, trial)
    return found.values()


def _by_judge(trial: Trial, rules: JudgingRules) -> dict[JudgeKey, Verdict]:
    """Return the verdicts of models on one answer, of each judge the first: it errs alike in several."""
    found: dict[JudgeKey, Verdict] = {}
    for verdict in trial.verdicts:
        if verdict.judgement is not None and verdict.passed is not None:
            found.setdefault(identity(verdict, rules), verdict)
    return found


def _rate(
    key: JudgeKey,
    verdicts: list[tuple[str, bool]],
    found: Calibration | None,
    rules: JudgingRules,
    confidence: float,
) -> JudgedRate:
    n, passed = len(verdicts), sum(verdict for _, verdict in verdicts)
    if found is None:
        return JudgedRate(key, n, passed, why="no labels")
    if found.labels is None:
        return JudgedRate(
            key, n, passed, why="its calibration has no counts; `recall judges calibrate --write` adds them"
        )
    if why := _held_otherwise(key, found, rules) or shortage(found.labels):
        return JudgedRate(key, n, passed, found.labels, why=why)
    groups = len({group for group, _ in verdicts})
    return JudgedRate(
        key,
        n,
        passed,
        found.labels,
        rectified(passed, n, found.labels, confidence, verdicts if groups < n else ()),
        differs=differs(passed * groups / n, groups, found.labels),
        groups=groups if groups < n else None,
    )


def _held_otherwise(key: JudgeKey, found: Calibration, rules: JudgingRules) -> str:
    """Return what else the judge was held to when the labels were judged; empty if it was the same."""
    threshold = rules.thresholds.get(key.judge)
    if threshold != found.threshold:
        ours, theirs = ("its own" if bar is None else f"{bar:g}" for bar in (threshold, found.threshold))
        return f"the threshold is {ours}, and was {theirs} for the labels"
    return ""
