"""Student's t: how far the mean of a few values may be from the true one."""

from __future__ import annotations

from functools import lru_cache
from math import atan, cos, pi, sin, sqrt

from pytest_recall.metrics.binomial import critical

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
