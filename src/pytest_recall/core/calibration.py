"""Calibration: how well a judging model agrees with people, and what rests on one that does not, or is unchecked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_recall.core.criteria import Bound
from pytest_recall.core.judgement import Preflight, Vote
from pytest_recall.core.trial import Outcome, Trial


class JudgeKey(NamedTuple):
    """A judge as it is calibrated: its name, the model's selector, and the version of the prompt."""

    judge: str
    model: str
    version: str


class Calibration(NamedTuple):
    """Agreement with people over `n` answers: Cohen's kappa, 1 for all, 0 for as much as by chance.

    `low` is the lower bound of its 95 % interval, None if nobody knows it.
    """

    kappa: float
    n: int
    low: float | None = None


class Standard(NamedTuple):
    """What is asked of a judge's kappa before its verdicts count: the minimum, and which figure has to reach it."""

    minimum: float
    bound: Bound = "estimate"

    def shortfall(self, found: Calibration | None) -> str:
        """Return what a judge falls short by, in words; empty if its verdicts count."""
        if found is None:
            return "is not calibrated"
        if self.bound == "lower":
            if found.low is None:
                return "is calibrated without an interval"
            if found.low < self.minimum:
                return f"has a kappa of {found.kappa:.3f} that may be {found.low:.3f}, below {self.minimum:g}"
        return f"has a kappa of {found.kappa:.3f}, below {self.minimum:g}" if found.kappa < self.minimum else ""


class Reviews(NamedTuple):
    """How often the appellate judge was asked for one reason, decided otherwise, and came to nothing."""

    asked: int = 0
    overturned: int = 0
    unheard: int = 0


class Panels(NamedTuple):
    """What models judged in a run: verdicts by judge, with its calibration if there is one.

    `appeals` are those about fails and disagreements, `audits` the checks of passes, of which
    the overturned ones are false passes; `retried` counts replies that could not be used
    before one could, `split` verdicts on votes that differed, `compared` comparisons and
    `flips` those of them that followed the position.
    """

    verdicts: Mapping[JudgeKey, int] = {}
    calibrations: Mapping[JudgeKey, Calibration] = {}
    appeals: Reviews = Reviews()
    audits: Reviews = Reviews()
    retried: int = 0
    split: int = 0
    compared: int = 0
    flips: int = 0
    preflights: Mapping[tuple[str, str], Preflight] = {}

    @property
    def total(self) -> int:
        """How many verdicts models gave."""
        return sum(self.verdicts.values())

    @property
    def uncalibrated(self) -> int:
        """How many of them are of judges that nobody has calibrated."""
        return sum(count for key, count in self.verdicts.items() if key not in self.calibrations)


def unproven(trial: Trial, known: Mapping[JudgeKey, Calibration], standard: Standard | None) -> str:
    """Return why the outcome of `trial` counts for nothing, in words; empty if it counts.

    A fail counts as soon as one judge fails the answer that has to be believed; a pass rests on
    every verdict. Judges that ask no model are believed.
    """
    if standard is None or not trial.outcome.is_verdict:
        return ""
    failed = trial.outcome is Outcome.FAILED
    short: dict[str, None] = {}
    for verdict in trial.verdicts:
        if failed and verdict.passed:
            continue
        lacks = ""
        if verdict.judgement is not None:
            lacks = standard.shortfall(known.get(JudgeKey(verdict.judge, verdict.model, verdict.version)))
        if lacks:
            short[f"judge {verdict.judge}, {verdict.model}, version {verdict.version} {lacks}"] = None
        elif failed:
            return ""
    return "; ".join(short)


def panels(trials: Iterable[Trial], known: Mapping[JudgeKey, Calibration], earlier: Iterable[Trial] = ()) -> Panels:
    """Return what models judged in `trials`; `known` are the calibrations that there are.

    Of `earlier` attempts, whose verdicts do not count, only the preflights do.
    """
    verdicts: Counter[JudgeKey] = Counter()
    asked: dict[str, Counter[str]] = {"appeal": Counter(), "audit": Counter()}
    votes: list[tuple[str, Vote]] = []
    split = 0
    trials = list(trials)
    for trial in trials:
        for verdict in trial.verdicts:
            judgement = verdict.judgement
            if judgement is None:
                continue
            verdicts[JudgeKey(verdict.judge, verdict.model, verdict.version)] += 1
            votes += [(verdict.judge, vote) for vote in judgement.every]
            split += judgement.split
            if judgement.appeal is not None:
                told = asked["audit" if judgement.cause == "audit" else "appeal"]
                told["asked"] += 1
                told["overturned"] += judgement.overturned
                told["unheard"] += judgement.appeal.passed is None
    return Panels(
        verdicts=dict(sorted(verdicts.items())),
        calibrations={key: known[key] for key in sorted(verdicts) if key in known},
        appeals=Reviews(**asked["appeal"]),
        audits=Reviews(**asked["audit"]),
        retried=sum(vote.retried for _, vote in votes),
        split=split,
        compared=sum(judge == "pairwise" and vote.passed is not None for judge, vote in votes),
        flips=sum(vote.flips for _, vote in votes),
        preflights=_flown([*trials, *earlier]),
    )


def _flown(trials: Iterable[Trial]) -> dict[tuple[str, str], Preflight]:
    """Return the preflights by judge and model; those of several workers are added up."""
    flown: dict[tuple[str, str], Preflight] = {}
    for verdict in (verdict for trial in trials for verdict in trial.verdicts):
        results = {} if verdict.judgement is None else verdict.judgement.preflights
        for model, result in results.items():
            before = flown.get((verdict.judge, model), Preflight(0, 0, 0))
            flown[verdict.judge, model] = Preflight(*(sum(both) for both in zip(before, result, strict=True)))
    return dict(sorted(flown.items()))
