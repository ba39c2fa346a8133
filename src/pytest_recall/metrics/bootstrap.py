"""Bootstrap: the interval of a mean by drawing the same values again, repeatable from a seed."""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from math import floor, fsum, isfinite
from statistics import NormalDist

from pytest_recall.metrics.binomial import Interval

RESAMPLES = 2000
_TIE = 1e-12


def mean_interval(
    differences: Sequence[float], confidence: float = 0.95, *, seed: str = "", resamples: int = RESAMPLES
) -> Interval | None:
    """Return the interval of the mean of paired `differences`, in their unit.

    The bias-corrected and accelerated bootstrap (BCa; Efron 1987, JASA 82:171), with the
    acceleration of a mean in its closed form. The draws come from SHAKE-256 of `seed`, so that
    every machine and every version of Python gives the same interval.

    None where values do not differ: drawn again they are the same, which shows nothing of
    how far another sample would be from them.

    Raises ValueError for values that are not finite.
    """
    if not all(map(isfinite, differences)):
        raise ValueError("differences have to be finite numbers")
    low, high = min(differences, default=0.0), max(differences, default=0.0)
    if high - low <= _TIE * max(abs(low), abs(high)):  # equal, but for rounding
        return None
    mean = fsum(differences) / len(differences)
    # In units of the largest deviation, so that no power of a tiny one is rounded to 0.
    unit = max(abs(x - mean) for x in differences)
    deviations = [(x - mean) / unit for x in differences]
    means = sorted(_means(deviations, seed, resamples))
    # Ties count by half, since means of few values repeat; the same values in another order may differ by rounding.
    below = (bisect_left(means, -_TIE) + bisect_right(means, _TIE)) / 2 / resamples
    normal = NormalDist()
    bias = normal.inv_cdf(min(max(below, 0.5 / resamples), 1 - 0.5 / resamples))
    acceleration = fsum(x**3 for x in deviations) / (6 * fsum(x**2 for x in deviations) ** 1.5)

    def bound(share: float) -> float:
        z = bias + normal.inv_cdf(share)
        # Where a single value is far from all others, the correction has a pole; beyond it lies the end.
        room = 1 - acceleration * z
        level = normal.cdf(bias + z / room) if room > 0 else float(z > 0)
        found = mean + unit * means[min(max(floor(level * resamples), 0), resamples - 1)]
        return min(max(found, low), high)

    return bound((1 - confidence) / 2), bound((1 + confidence) / 2)


def _means(values: Sequence[float], seed: str, resamples: int) -> Iterator[float]:
    """Yield the mean of as many values as there are, drawn with replacement, `resamples` times."""
    n = len(values)
    start = hashlib.sha256(seed.encode()).digest()
    for number in range(resamples):
        draws = struct.unpack(f"<{n}I", hashlib.shake_256(start + number.to_bytes(4, "big")).digest(4 * n))
        # 32 bits times n, without the lower 32: uniform but for one part in 2^32 / n.
        yield sum([values[draw * n >> 32] for draw in draws]) / n
