"""Agreement: what a judge said about answers that people have judged, and how far it is theirs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from pytest_recall.core.calibration import Calibration, JudgeKey, Standard
from pytest_recall.metrics.agreement import Kappa, kappa, percent_agreement
from pytest_recall.metrics.binomial import Interval, wilson


class Opinion(NamedTuple):
    """What a judge said about one labelled answer. `passed` is None where it came to nothing, `reason` says why.

    `label` is the person's verdict, `given` their score and `score` the judge's, both 0..1.
    """

    id: str
    label: bool
    passed: bool | None
    reason: str = ""
    score: float | None = None
    given: float | None = None


class Share(NamedTuple):
    """A count of so many, with the 95 % Wilson interval of the share, 0..1; None where there were none."""

    times: int
    of: int

    @property
    def interval(self) -> Interval | None:
        """The interval."""
        return wilson(self.times, self.of)


Role = Literal["stands", "votes", "whole"]
"""Whose verdict a run takes; who only votes on it; and all of them with the appeal, by which no verdict is named."""


class Agreement(NamedTuple):
    """A judge beside people. `n` answers came to a verdict, `unjudged` did not and count for nothing.

    `false_passes` are of those that people failed, `false_fails` of those that they passed.
    `kappa` is None where it is undefined: both always said the same one thing. `distance` is the
    mean distance of the scores, 0..1, where both gave some.
    """

    key: JudgeKey
    n: int
    percent: float | None
    kappa: Kappa | None
    false_passes: Share
    false_fails: Share
    wrong: tuple[Opinion, ...]
    unjudged: tuple[Opinion, ...]
    distance: float | None = None
    role: Role = "stands"

    @property
    def name(self) -> str:
        """Whom the figures are of."""
        return f"{self.key.judge}, {self.key.model}, version {self.key.version}"

    def shortfall(self, standard: Standard | None) -> str:
        """Return what a judge whose verdict stands falls short by, as a sentence; empty if it does not."""
        if standard is None or self.role != "stands":
            return ""
        if self.kappa is None:
            return f"{self.name}: its kappa is undefined, and {standard.minimum:g} is asked for; label more answers"
        low = None if self.kappa.interval is None else self.kappa.interval[0]
        lacks = standard.shortfall(Calibration(self.kappa.value, self.n, low))
        return f"{self.name} {lacks}" if lacks else ""


def agreement(key: JudgeKey, opinions: Iterable[Opinion], role: Role = "stands") -> Agreement:
    """Return how far the judge `key` agrees with the labels."""
    every = list(opinions)
    heard = [one for one in every if one.passed is not None]
    pairs = [(one.label, bool(one.passed)) for one in heard]
    distances = [abs(one.score - one.given) for one in heard if one.score is not None and one.given is not None]
    return Agreement(
        key=key,
        n=len(heard),
        percent=percent_agreement(pairs),
        kappa=kappa(pairs, (False, True)),
        false_passes=Share(pairs.count((False, True)), sum(not label for label, _ in pairs)),
        false_fails=Share(pairs.count((True, False)), sum(label for label, _ in pairs)),
        wrong=tuple(one for one in heard if one.passed is not one.label),
        unjudged=tuple(one for one in every if one.passed is None),
        distance=sum(distances) / len(distances) if distances else None,
        role=role,
    )
