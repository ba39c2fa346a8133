"""Compute means, shares and slopes of clustered values, such as one question asked many times.

Values of one group resemble each other, so that there is less to learn from a hundred of them than from a hundred
of different groups. The intervals are cluster-robust: they let values of a group depend on one another in any way
(Liang and Zeger 1986, Biometrika 73:13), with the correction G / (G - 1) for G groups and Student's t with G - 1
degrees of freedom (Cameron and Miller 2015, Journal of Human Resources 50:317). Of few groups they say less than
their level.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import fsum, inf, sqrt
from typing import NamedTuple

from pytest_recall.metrics.intervals import Interval, Mean, critical, critical_t, wilson

# A variance below it is what rounding leaves of equal values: 1e-12, squared.
_NOTHING = 1e-24


class Clustered(NamedTuple):
    """A value of some values in groups, with its interval, in the unit of the values."""

    value: float | None
    """None without values."""
    low: float | None
    """None where nothing shows how far the value may be off: with fewer than two groups, or where all values are the
    same."""
    high: float | None
    """None where `low` is."""
    n: int
    """How many values there are."""
    clusters: int
    """How many groups they are in."""


def clustered_mean(
    values: Iterable[tuple[Hashable, float]],
    *,
    within: tuple[float, float] = (-inf, inf),
    confidence: float = 0.95,
) -> Clustered:
    """Return the mean of values, each given with its group; no interval reaches beyond `within`."""
    groups = _groups(values)
    n = sum(map(len, groups.values()))
    if not n:
        return Clustered(None, None, None, 0, 0)
    mean, variance = _mean_variance(groups, n)
    if variance is None or variance <= _NOTHING:
        return Clustered(mean, None, None, n, len(groups))
    # The variance is estimated from one sum for each group: the groups, not the values, are its degrees of freedom.
    half = critical_t(len(groups) - 1, confidence) * sqrt(variance)
    return Clustered(mean, max(mean - half, within[0]), min(mean + half, within[1]), n, len(groups))


def clustered_share(outcomes: Iterable[tuple[Hashable, float]], *, confidence: float = 0.95) -> Clustered:
    """Return the share, 0..1, of what is true, each given with its group.

    An outcome that is a share itself, such as of several attempts, counts as that. The interval is that of
    `share_interval`; where all are the same, for as many values as there are groups.
    """
    groups = _groups((key, float(outcome)) for key, outcome in outcomes)
    n = sum(map(len, groups.values()))
    if not n:
        return Clustered(None, None, None, 0, 0)
    share, variance = _mean_variance(groups, n)
    if share in (0.0, 1.0) or variance is None or variance <= _NOTHING:
        found = wilson(share * len(groups), len(groups), confidence)
        assert found is not None
    else:
        found = share_interval(share, variance, len(groups) - 1, n, confidence)
    return Clustered(share, *found, n, len(groups))


def share_interval(share: float, variance: float, degrees: int, most: int, confidence: float) -> Interval:
    """Return the interval, 0..1, of a share that has this variance, known with so many degrees of freedom.

    It is Wilson's for as many independent values as would show the same spread (Korn and Graubard 1998, Survey
    Methodology 24:193), at most `most`, and not below one, of which it would say nothing.
    """
    # Wilson's interval takes the variance as known. A size smaller by the square of z / t makes it as wide as t does.
    wider = critical(confidence) / critical_t(degrees, confidence)
    size = max(min(share * (1 - share) / max(variance, _NOTHING) * wider * wider, most), 1.0)
    found = wilson(share * size, size, confidence)
    assert found is not None
    return found


def variance_of_mean(values: Iterable[tuple[Hashable, float]]) -> tuple[float | None, int]:
    """Return the variance of the mean of values, each given with its group, and the number of groups.

    It is cluster-robust with the correction G / (G - 1); of groups of one value each that is the usual one. None with
    fewer than two groups.
    """
    groups = _groups(values)
    n = sum(map(len, groups.values()))
    return (_mean_variance(groups, n)[1] if n else None), len(groups)


def widened(
    mean: Mean,
    values: Sequence[tuple[Hashable, float]],
    *,
    share: bool,
    within: tuple[float, float],
    confidence: float = 0.95,
) -> Mean:
    """Return the `mean` of values, each given with its group, with an interval that lets those of a group be alike.

    It is never narrower than the one that takes them for independent: of few groups the spread between these is itself
    a matter of luck. Where all values are of one group, nothing shows how others would differ, and it stays.
    """
    groups = len({key for key, _ in values})
    if mean.low is None or mean.high is None or not 1 < groups < len(values):
        return mean
    found = (
        clustered_share(values, confidence=confidence)
        if share
        else clustered_mean(values, within=within, confidence=confidence)
    )
    if found.low is None or found.high is None:
        return mean
    return mean._replace(low=min(mean.low, found.low), high=max(mean.high, found.high))


def clustered_slope(values: Iterable[tuple[Hashable, float, float]], *, confidence: float = 0.95) -> Clustered:
    """Return by how much y changes with each unit of x within the groups, of triples (group, x, y).

    Each group has a level of its own (fixed effects, the within estimator; Wooldridge 2010, Econometric Analysis of
    Cross Section and Panel Data, 10.5), so that groups that are easier and come earlier do not look like a change.
    Groups with one x say nothing, and are not counted. The value is None without any other.
    """
    groups: dict[Hashable, list[tuple[float, float]]] = {}
    for key, x, y in values:
        groups.setdefault(key, []).append((x, y))
    centred = [_centred(points) for points in groups.values() if len({x for x, _ in points}) > 1]
    n, spread = sum(map(len, centred)), fsum(x * x for points in centred for x, _ in points)
    if not n or spread <= 0:
        return Clustered(None, None, None, 0, 0)
    slope = fsum(x * y for points in centred for x, y in points) / spread
    clusters = len(centred)
    scores = [fsum(x * (y - slope * x) for x, y in points) for points in centred]
    # The same correction as in `_mean_variance`.
    variance = clusters / (clusters - 1) * fsum(one * one for one in scores) / spread**2 if clusters > 1 else 0.0
    if variance <= _NOTHING:
        return Clustered(slope, None, None, n, clusters)
    half = critical_t(clusters - 1, confidence) * sqrt(variance)
    return Clustered(slope, slope - half, slope + half, n, clusters)


def _groups(values: Iterable[tuple[Hashable, float]]) -> Mapping[Hashable, list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for key, value in values:
        groups.setdefault(key, []).append(value)
    return groups


def _mean_variance(groups: Mapping[Hashable, list[float]], n: int) -> tuple[float, float | None]:
    """Return the mean and the variance of it; None for that of a single group."""
    mean = fsum(value for values in groups.values() for value in values) / n
    count = len(groups)
    if count < 2:
        return mean, None
    scores = (fsum(value - mean for value in values) for values in groups.values())
    # The mean is fitted to the same values, which makes their sums about it too small: G / (G - 1) (CR1) corrects that.
    return mean, count / (count - 1) * fsum(score * score for score in scores) / n**2


def _centred(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    x_mean, y_mean = (fsum(values) / len(points) for values in zip(*points, strict=True))
    return [(x - x_mean, y - y_mean) for x, y in points]
