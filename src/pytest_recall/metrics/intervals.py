"""Means, rates and percentiles with their intervals.

A share of yes and no has the Wilson interval. The mean of other values has Student's t interval:
it needs their number, sum and squares only, so that a million lines take no more memory than ten,
and no seed. It is meant for tens of values or more; of a few, or of values that are
nearly all 0, it says less than its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import atan, comb, cos, exp, floor, inf, isfinite, lgamma, log, log1p, pi, sin, sqrt
from typing import NamedTuple

Interval = tuple[float, float]
"""A lower and an upper bound."""


def critical(confidence: float) -> float:
    """Return the z that a standard normal variable stays within, on both sides, with probability `confidence`."""
    from statistics import NormalDist  # most runs show no interval, and it brings decimal and fractions

    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(passed: float, n: float, confidence: float = 0.95) -> Interval | None:
    """Return the score interval of a pass rate, 0..1: `passed` of `n`; None without trials.

    It stays within 0..1, and is right where the rate is near 0 or 1 and n is small (Wilson
    1927, JASA 22:209; recommended by Brown, Cai and DasGupta 2001, Statistical Science 16:101).
    """
    if n <= 0:
        return None
    z = critical(confidence)
    centre = passed + z * z / 2
    half = z * sqrt(passed * (n - passed) / n + z * z / 4)
    # Rounding must not push a bound past the rate: with no pass the lower bound is 0.
    rate = passed / n
    return min(max((centre - half) / (n + z * z), 0.0), rate), max(min((centre + half) / (n + z * z), 1.0), rate)


def probability(k: int, n: int, p: float) -> float:
    """Return the probability of exactly `k` passes in `n` trials that pass with probability `p`."""
    if not 0 <= k <= n:
        return 0.0
    if p == 0.5 and n <= 1000:
        return comb(n, k) / (1 << n)  # without a rounding error, so that p-values at the very level are what they are
    return exp(_log_probability(k, n, p))


def at_least(k: int, n: int, p: float) -> float:
    """Return the probability of `k` passes or more in `n` trials that pass with probability `p`.

    The terms are added from `k` away from the mean, where each is smaller than the one
    before: time grows with the square root of n, and small tails keep their precision.
    """
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    if p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    if k <= n * p:
        return 1.0 - at_least(n - k + 1, n, 1 - p)
    term = total = probability(k, n, p)
    odds = p / (1 - p)
    for i in range(k, n):
        term = term * (n - i) * odds / (i + 1)
        total += term
        if term < total * 1e-17:
            break
    return min(total, 1.0)


def _log_probability(k: int, n: int, p: float) -> float:
    if p <= 0:
        return 0.0 if k == 0 else -inf
    if p >= 1:
        return 0.0 if k == n else -inf
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p)


_MANY = 200


@lru_cache(maxsize=4096)
def critical_t(degrees: int, confidence: float = 0.95) -> float:
    """Return the t that a variable with so many `degrees` of freedom stays within, on both sides.

    Up to 200 degrees by halving the interval of the exact distribution (Abramowitz and Stegun
    26.7.3 and 26.7.4), above by its expansion around the normal one (26.7.5), which is then right
    to nine digits. Raises ValueError for less than 1 degree, or a confidence outside of 0..1.
    """
    if degrees < 1 or not 0 < confidence < 1:
        raise ValueError(f"{degrees} degrees at {confidence}: needs 1 or more, and a confidence between 0 and 1")
    z = critical(confidence)
    if degrees > _MANY:
        return z + _expansion(z, degrees)
    low = high = z
    while _within(high, degrees) < confidence:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < confidence else (low, middle)
    return (low + high) / 2


def _within(t: float, degrees: int) -> float:
    """Return the probability that |T| is at most `t`."""
    angle = atan(t / sqrt(degrees))
    cosine, odd = cos(angle), degrees % 2
    total, term = 0.0, cosine if odd else 1.0
    for power in range(odd, degrees - 1, 2):
        total += term
        term *= cosine * cosine * (power + 1) / (power + 2)
    return 2 / pi * (angle + sin(angle) * total) if odd else sin(angle) * total


def _expansion(z: float, degrees: int) -> float:
    """Return how far t lies above `z`."""
    parts = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(part / float(degrees) ** power for power, part in enumerate(parts, start=1))


UNIT = (0.0, 1.0)


class Mean(NamedTuple):
    """The mean of some values, in their unit, with its interval."""

    value: float | None
    """None without values."""
    n: int
    """How many values there are."""
    low: float | None
    """None where values show no spread: without any, with a single one that is no yes or no, or where all are the
    same."""
    high: float | None
    """None where `low` is."""
    failures: int = 0
    """How many gave no value, and are not in the mean."""


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


METHOD = "linear interpolation (Hyndman and Fan 1996, type 7)"
LEVELS = (50, 90, 95, 99)


def percentile(ordered: list[float], level: float) -> float | None:
    """Return the percentile `level`, 0..100, of values in ascending order, in their unit; None without values.

    Between two values it is interpolated: type 7 of Hyndman and Fan (1996, The American Statistician
    50:361), the default of numpy and R. With n values, those beyond 100 * (n - 1) / n are
    near the largest one, and say as little as that does.

    Raises ValueError for a level outside of 0..100.
    """
    if not 0 <= level <= 100:
        raise ValueError(f"{level} is not a percentile; one lies between 0 and 100")
    if not ordered:
        return None
    place = level / 100 * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def percentiles(values: Iterable[float]) -> dict[str, float | None]:
    """Return p50, p90, p95 and p99 of `values`, which need no order; None each without values."""
    ordered = sorted(values)
    return {f"p{level}": percentile(ordered, level) for level in LEVELS}


def pass_at_k(n: int, passed: int, k: int) -> float | None:
    """Return the probability that at least one of `k` trials passes, from `passed` of `n`; None if n < k.

    The unbiased estimator 1 - C(n-c, k) / C(n, k) (Chen et al. 2021, arXiv:2107.03374, eq. 1).
    Raises ValueError for counts that cannot be.
    """
    _check(n, passed, k)
    return None if n < k else (comb(n, k) - comb(n - passed, k)) / comb(n, k)


def pass_hat_k(n: int, passed: int, k: int) -> float | None:
    """Return the probability that all of `k` trials pass, from `passed` of `n`: pass^k; None if n < k.

    The unbiased estimator C(c, k) / C(n, k) (Yao et al. 2024, tau-bench, arXiv:2406.12045,
    section 4). Raises ValueError for counts that cannot be.
    """
    _check(n, passed, k)
    return None if n < k else comb(passed, k) / comb(n, k)


def _check(n: int, passed: int, k: int) -> None:
    if not (0 <= passed <= n and k >= 1):
        raise ValueError(f"{passed} of {n} trials passed, k is {k}: needs 0 <= passed <= n and k >= 1")


def unseen_share(tested: int, total: int, confidence: float = 0.95) -> float | None:
    """Return the largest share of cases, 0..1, that could be broken with none of them tested.

    A change that breaks a share s of all cases leaves n tested ones untouched with
    probability (1-s)^n; the share returned is the one at which that falls to
    1-`confidence`. It takes the tested cases for a random draw. 0.0 if all were tested;
    None if none was.
    """
    if tested <= 0:
        return None
    if tested >= total:
        return 0.0
    return float(1 - (1 - confidence) ** (1 / tested))
