"""Binomial: what chance does to a count of passes, and the interval of a pass rate."""

from __future__ import annotations

from math import comb, exp, inf, lgamma, log, log1p, sqrt

Interval = tuple[float, float]
"""A lower and an upper bound."""


def critical(confidence: float) -> float:
    """Return the z that a standard normal variable stays within, on both sides, with probability `confidence`."""
    from statistics import NormalDist  # most runs show no interval, and it brings decimal and fractions

    return NormalDist().inv_cdf((1 + confidence) / 2)


def wilson(passed: float, n: int, confidence: float = 0.95) -> Interval | None:
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
