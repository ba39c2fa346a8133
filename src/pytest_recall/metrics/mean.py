"""Means: a mean is never shown without how many values it is of, how sure it is, and what failed.

A share of yes and no has the Wilson interval. The mean of other values has Student's t interval:
it needs their number, sum and squares only, so that a million lines take no more memory than ten,
and no seed. It is meant for tens of values or more; of a few, or of values that are
nearly all 0, it says less than its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, isfinite, sqrt
from typing import NamedTuple

from pytest_recall.metrics.binomial import wilson
from pytest_recall.metrics.student import critical_t

UNIT = (0.0, 1.0)


class Mean(NamedTuple):
    """The mean of `n` values, in their unit, with its interval; `failures` gave no value and are not in it.

    `value` is None without values, `low` and `high` where values show no spread: without any,
    with a single one that is no yes or no, or where all are the same.
    """

    value: float | None
    n: int
    low: float | None
    high: float | None
    failures: int = 0


class Tally:
    """Adds values up to a Mean, in constant memory. `share`: they are yes or no, 1 or 0.

    `within` are the bounds of what a value can be, in its unit; no interval reaches beyond them.
    """

    __slots__ = ("_mean", "_share", "_squares", "_total", "_within", "failures", "n")

    def __init__(self, *, share: bool = False, within: tuple[float, float] = UNIT) -> None:
        self.n = 0
        self.failures = 0
        self._share = share
        self._within = within
        self._total = self._mean = self._squares = 0.0

    def add(self, value: float) -> None:
        """Take a value. Raises ValueError for one that is not within the bounds, or no 0 or 1 in a share."""
        low, high = self._within
        if not (isfinite(value) and low <= value <= high) or (self._share and value not in (0, 1)):
            raise ValueError(f"{value!r} is not {'0 or 1' if self._share else f'between {low} and {high}'}")
        self.n += 1
        self._total += value
        # Welford 1962, Technometrics 4:419: squares of deviations without the loss of digits that a sum of squares has.
        step = value - self._mean
        self._mean += step / self.n
        self._squares += step * (value - self._mean)

    def fail(self) -> None:
        """Take note of a value that there should have been."""
        self.failures += 1

    @property
    def total(self) -> float:
        """The sum of the values, added in their order."""
        return self._total

    def mean(self, confidence: float = 0.95) -> Mean:
        """Return what it comes to so far."""
        if not self.n:
            return Mean(None, 0, None, None, self.failures)
        value = self._total / self.n
        if self._share:
            found = wilson(round(self._total), self.n, confidence)
            assert found is not None
            return Mean(value, self.n, *found, self.failures)
        # Equal values may differ by rounding, which is no spread either.
        if self.n == 1 or self._squares <= (1e-12 * value) ** 2 * self.n:
            return Mean(value, self.n, None, None, self.failures)
        half = critical_t(self.n - 1, confidence) * sqrt(self._squares / (self.n - 1) / self.n)
        low, high = self._within
        return Mean(value, self.n, max(value - half, low), min(value + half, high), self.failures)


def mean_of(
    values: Iterable[float | None], *, within: tuple[float, float] = (-inf, inf), confidence: float = 0.95
) -> Mean:
    """Return the mean of `values`, in their unit; None is a failure. Raises ValueError as `Tally.add` does."""
    return _tallied(values, Tally(within=within)).mean(confidence)


def share_of(outcomes: Iterable[bool | None], *, confidence: float = 0.95) -> Mean:
    """Return the share, 0..1, of what is true; None is a failure."""
    return _tallied(outcomes, Tally(share=True)).mean(confidence)


def _tallied(values: Iterable[float | None], tally: Tally) -> Tally:
    for value in values:
        if value is None:
            tally.fail()
        else:
            tally.add(value)
    return tally
