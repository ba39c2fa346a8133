"""Compute means over questions asked after each of several ingests, with the variance between ingests.

A memory that ingests by a model has another store each time it is told the same. Each question is averaged over the
ingests, so that R of them are not R times as many questions, and the variance of the mean has two parts:

V1, between questions, is that of the mean of these question averages: taken as independent, or cluster-robust,
whichever makes the wider interval, as for one ingest.

V2, between ingests, is s^2 / R with the sample variance of the R means: sum_r d_r^2 / (R - 1) / R, where d_r is by how
much the mean of ingest r differs from that of all. Where questions have no value after some ingests, s^2 is taken from
pairs of ingests over the questions that both have, and the R means have the weights that the questions give them.

The interval is Student's t with SE = sqrt(V1 + V2), and degrees of freedom by Satterthwaite (1946, Biometrics Bulletin
2:110): (V1 + V2)^2 / (V1^2 / f1 + V2^2 / f2), with f2 = R - 1, rounded down. Of shares it is Wilson's for as many
values as have this variance (`clustered.share_interval`), at most all of them. It is never narrower than without V2,
which may have fewer degrees of freedom. Both d_r and V1 have the noise of single answers in them, so that it is rather
too wide than too narrow.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import combinations
from math import floor, fsum, sqrt
from typing import NamedTuple

from pytest_recall.metrics.clustered import share_interval, variance_of_mean, widened
from pytest_recall.metrics.intervals import Interval, Mean, Tally, critical_t

_NOTHING = 1e-24
Answers = tuple[Hashable, Sequence[float | None]]
"""The cluster of a question, and its value after each ingest; None where there is none."""


class IngestSpread(NamedTuple):
    """The means after each ingest, and their standard deviation, both in the unit of the values."""

    means: tuple[float | None, ...]
    """Each over the questions that the ingest has a value of; None without a value."""
    deviation: float | None
    """None where no two ingests have a value of the same question."""


class RepeatedMean(NamedTuple):
    """A mean with its interval, and what the ingests came to."""

    mean: Mean
    spread: IngestSpread | None = None
    """None for a single ingest."""


class Variance(NamedTuple):
    """The variance of a mean, and the degrees of freedom with which it is known."""

    value: float
    degrees: float


def repeated_mean(
    answers: Sequence[Answers], *, share: bool, within: Interval, confidence: float = 0.95
) -> RepeatedMean:
    """Return the mean of the question averages, with an interval that has the variance between ingests in it.

    All questions have as many values, one for each ingest; with a `share` these are 0 or 1. A question without any
    value is a failure. The interval stays `within` the bounds. With several ingests there is none where nothing shows
    how these differ, because no two of them have a value of the same question.
    """
    rows = [(key, row, known) for key, row in answers if (known := [one for one in row if one is not None])]
    values = [(key, fsum(known) / len(known)) for key, _, known in rows]
    ingests = max((len(row) for _, row in answers), default=1)
    bare = Mean(_mean([value for _, value in values]), len(values), None, None, len(answers) - len(values))
    # Shares that are the same after each ingest are yes and no, as those of one ingest.
    whole = not share or all(value in (0, 1) for _, value in values)
    alone = bare
    if whole:
        once = _tallied(values, share, within, confidence)._replace(failures=bare.failures)
        alone = widened(once, values, share=share, within=within, confidence=confidence)
    if ingests < 2:
        return RepeatedMean(alone)
    kept = [row for _, row, _ in rows]
    means = tuple(_mean([one for row in kept if (one := row[place]) is not None]) for place in range(ingests))
    between = _between(kept, ingests)
    spread = IngestSpread(means, None if between is None else sqrt(between))
    if between is None or bare.value is None:
        return RepeatedMean(bare, spread)
    if len(values) < 2 or (whole and between <= _NOTHING):
        return RepeatedMean(alone, spread)
    questions = _of_questions(values, confidence)
    added = Variance(between * _weights(kept, ingests), sum(one is not None for one in means) - 1)
    most = sum(len(known) for _, _, known in rows)
    found = [] if alone.low is None or alone.high is None else [(alone.low, alone.high)]
    for variance in (questions, together(questions, added)):
        degrees = max(floor(variance.degrees + 1e-9), 1)
        if share:
            found.append(share_interval(bare.value, variance.value, degrees, most, confidence))
        else:
            half = critical_t(degrees, confidence) * sqrt(variance.value)
            found.append((max(bare.value - half, within[0]), min(bare.value + half, within[1])))
    return RepeatedMean(bare._replace(low=min(low for low, _ in found), high=max(high for _, high in found)), spread)


def together(first: Variance, second: Variance) -> Variance:
    """Return the sum of two variances with its degrees of freedom (Satterthwaite 1946, Biometrics Bulletin 2:110)."""
    value = first.value + second.value
    if not value:
        return Variance(0.0, min(first.degrees, second.degrees))
    # By shares of the sum, so that no square of a small variance is lost.
    parts = [(one.value / value) ** 2 / one.degrees for one in (first, second) if one.value]
    return Variance(value, 1 / fsum(parts))


def _of_questions(values: Sequence[tuple[Hashable, float]], confidence: float) -> Variance:
    """Return the variance between questions: as if independent, or by cluster, whichever interval is wider."""
    apart = variance_of_mean(enumerate(value for _, value in values))
    found = [
        Variance(variance, groups - 1)
        for variance, groups in (apart, variance_of_mean(values))
        if variance is not None and groups > 1
    ]
    return max(found, key=lambda one: critical_t(int(one.degrees), confidence) * sqrt(one.value))


def _tallied(values: Iterable[tuple[Hashable, float]], share: bool, within: Interval, confidence: float) -> Mean:
    tally = Tally(share=share, within=within)
    for _, value in values:
        tally.add(value)
    return tally.mean(confidence)


def _between(rows: Sequence[Sequence[float | None]], ingests: int) -> float | None:
    """Return the variance of the mean of an ingest; None where no two have a value of the same question.

    For complete rows half of the mean squared difference of two means is their sample variance. Pairs weigh as much as
    they have questions.
    """
    squares, weights = [], []
    for one, other in combinations(range(ingests), 2):
        both = [(row[one], row[other]) for row in rows]
        differences = [first - second for first, second in both if first is not None and second is not None]
        if differences:
            squares.append(fsum(differences) ** 2 / len(differences) / 2)
            weights.append(len(differences))
    return fsum(squares) / sum(weights) if weights else None


def _weights(rows: Sequence[Sequence[float | None]], ingests: int) -> float:
    """Return the sum of the squared weights of the ingests in the mean: 1 / R where each has all questions."""
    known = [sum(one is not None for one in row) for row in rows]
    shares = (
        fsum(1 / count for row, count in zip(rows, known, strict=True) if row[place] is not None) / len(rows)
        for place in range(ingests)
    )
    return fsum(share * share for share in shares)


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None
