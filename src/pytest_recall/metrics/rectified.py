"""Correct a pass rate that judges measured for their mean error, by answers that people labelled.

The mean over yes and no of prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023,
Science 382:669, arXiv:2301.09633, the example of a mean): of N answers the judge passes the share f, and of n others
it is known what it says and what a person says. The rate is f + c, where c is the mean over these n of the person's
verdict less the judge's, each 1 or 0, and its variance is var(f) / N + var(c) / n.

Three choices are made.

- The normal interval of that paper is too narrow where a judge makes few mistakes or a rate is near 0 or 1: with none
  among the labels it takes the judge for perfect. So both parts have score intervals, f that of Wilson and c that of
  Tango, whose distances from the estimate are added as squares (Zou and Donner 2008, Statistics in Medicine 27:1693).
  In the middle of the range and with many labels it is the same interval.
- Answers of one group, such as those to one question at several checkpoints, may be alike. Then the interval of f is
  that of `clustered_share`, and no narrower than Wilson's. The labels are taken for independent.
- No power is tuned (PPI++, arXiv:2311.01453): its weight below 1 on f moves the rate towards that of the labelled
  answers, which were given by other versions of an agent. With the weight 1 labels say how a judge errs and nothing
  of how often answers are right, so that what a change of the agent did to the rate is left whole.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from math import hypot, sqrt
from typing import NamedTuple

from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.clustered import clustered_share
from pytest_recall.metrics.intervals import Interval, critical, wilson
from pytest_recall.metrics.paired import difference_interval

FEWEST_LABELS = 30
"""Fewer labels correct no rate: hardly any of them can be a mistake of a judge that is worth having."""


class RectifiedRate(NamedTuple):
    """A pass rate with the judge's errors taken out, and its interval, all of it 0..1."""

    value: float
    interval: Interval


def shortage(labels: Confusion) -> str:
    """Return why `labels` are too few to correct a rate, in words; empty if they are enough.

    Labels of one kind alone show one kind of mistake alone, so that there have to be passes and fails by people.
    """
    if labels.n < FEWEST_LABELS:
        return f"{labels.n} label{'' if labels.n == 1 else 's'}, {FEWEST_LABELS} are the least"
    if not labels.right_passes + labels.false_fails:
        return f"{labels.n} labels, and none of them is a pass"
    if not labels.right_fails + labels.false_passes:
        return f"{labels.n} labels, and none of them is a fail"
    return ""


def rectified(
    passed: int,
    n: int,
    labels: Confusion,
    confidence: float = 0.95,
    groups: Iterable[tuple[Hashable, bool]] = (),
) -> RectifiedRate | None:
    """Return the rate of `n` answers with a judge's errors taken out; None without answers.

    It passed `passed` of them; `labels` compares that judge with people, on other answers than these. `groups` are the
    verdicts on the answers, each with its group, where answers of a group may be alike. Raises ValueError
    for counts that cannot be, and for labels that are too few (`shortage`).
    """
    if not 0 <= passed <= n:
        raise ValueError(f"{passed} of {n} answers passed: needs 0 <= passed <= n")
    if lacks := shortage(labels):
        raise ValueError(lacks)
    within = wilson(passed, n, confidence)
    correction = difference_interval(labels.false_passes, labels.false_fails, labels.n, confidence)
    if within is None or correction is None:
        return None
    alike = clustered_share(groups, confidence=confidence)
    if alike.low is not None and alike.high is not None:
        within = min(within[0], alike.low), max(within[1], alike.high)
    rate, added = passed / n, -labels.error
    value = rate + added
    below = hypot(rate - within[0], added - correction[0])
    above = hypot(within[1] - rate, correction[1] - added)
    return RectifiedRate(_share(value), (_share(value - below), _share(value + above)))


def differs(passed: float, n: float, labels: Confusion, confidence: float = 0.99) -> bool:
    """Whether a judge passes another share of the labelled answers than of the `n` of which it passed `passed`.

    By more than chance, in the test of two shares with a pooled variance. Labelled answers of another mix may be such
    that the judge errs more often on them, or less; that they are alike in this does not show that they are in that.
    Answers in groups count as one for each group.
    """
    if not n or not labels.n:
        return False
    others = labels.right_passes + labels.false_passes
    pooled = (passed + others) / (n + labels.n)
    spread = sqrt(pooled * (1 - pooled) * (1 / n + 1 / labels.n))
    return abs(passed / n - others / labels.n) > critical(confidence) * spread


def _share(value: float) -> float:
    return min(max(value, 0.0), 1.0)
