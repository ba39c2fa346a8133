"""Test whether the same cases differ between two runs by more than chance: McNemar, sign flips, bootstrap.

`lost` cases passed in the first run and failed in the second, `gained` ones the other way
round; only these, the discordant pairs, tell the runs apart.
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from math import ceil, floor, fsum, isfinite, lcm, sqrt
from statistics import NormalDist

from pytest_recall.metrics.intervals import Interval, at_least, critical, probability

POWER = 0.8
_MOST_POINTS = 81
_PRECISION = 1e-4


def mcnemar(lost: int, gained: int) -> float:
    """Return the two-sided p-value of McNemar's test, by the binomial distribution; 1.0 without discordant pairs.

    The exact test (McNemar 1947, Psychometrika 12:153, with Fisher's conditional
    distribution) never alarms more often than its level, whatever the number of pairs.
    """
    n = lost + gained
    if n == 0:
        return 1.0
    return min(1.0, 2 * at_least(max(lost, gained), n, 0.5))


def difference_interval(lost: float, gained: float, pairs: int, confidence: float = 0.95) -> Interval | None:
    """Return the interval of the change in pass rate, -1..1, from the first run to the second; None without pairs.

    The score interval for paired proportions (Tango 1998, Statistics in Medicine 17:891): it
    is right also where few pairs are discordant, or none. Sums of shares may stand for counts;
    it is then too wide, since the difference of shares varies less than that of verdicts.
    """
    if pairs <= 0:
        return None
    z = critical(confidence)
    seen = (gained - lost) / pairs

    def solve(low: float, high: float, wanted: float) -> float:
        for _ in range(60):  # halving: beyond the precision of a float
            middle = (low + high) / 2
            low, high = (middle, high) if _score(middle, lost, gained, pairs) > wanted else (low, middle)
        return (low + high) / 2

    return solve(-1.0, seen, z), solve(seen, 1.0, -z)


def _score(difference: float, lost: float, gained: float, pairs: int) -> float:
    """Return Tango's statistic for the hypothesis that the true change is `difference`; it falls as that grows."""
    top = gained - lost - pairs * difference
    b = -gained - lost + (2 * pairs - gained + lost) * difference
    c = -lost * difference * (1 - difference)
    share = (sqrt(max(b * b - 8 * pairs * c, 0.0)) - b) / (4 * pairs)
    variance = pairs * (2 * share + difference * (1 - difference))
    if variance <= 1e-12:
        return 0.0 if abs(top) < 1e-9 else top * float("inf")
    return top / sqrt(variance)


def smallest_drop(pairs: int, discordance: float, alpha: float, power: float = POWER) -> float | None:
    """Return the smallest true drop in pass rate, 0..1, that `mcnemar` shows at level `alpha` with this power.

    `discordance` is the share of pairs, 0..1, whose verdicts differ, as seen or assumed; a
    drop larger than that brings its own. The power is unconditional: summed over the number
    of discordant pairs (Connor 1987, Biometrics 43:207, with the binomial distribution for
    the normal one). None if even a drop of all cases would not be shown.
    """
    if pairs <= 0 or _power(pairs, 1.0, 1.0, alpha) < power:
        return None
    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if _power(pairs, max(discordance, middle), middle, alpha) < power:
            low = middle
        else:
            high = middle
    return high


def power_of_drop(pairs: int, discordance: float, drop: float, alpha: float) -> float:
    """Return the probability that `mcnemar` shows a true `drop` in pass rate at level `alpha`.

    `discordance` is at least `drop`. Raises ValueError if it is not.
    """
    if not 0 <= drop <= discordance <= 1:
        raise ValueError(f"a drop of {drop} needs a share of discordant pairs between {drop} and 1, not {discordance}")
    return _power(pairs, discordance, drop, alpha)


def _power(pairs: int, discordance: float, drop: float, alpha: float) -> float:
    if discordance <= 0:
        return 0.0
    share = (discordance + drop) / (2 * discordance)  # of the discordant pairs, those that are lost
    mean, spread = pairs * discordance, sqrt(pairs * discordance * (1 - discordance))
    first, last = max(0, floor(mean - 6 * spread - 1)), min(pairs, ceil(mean + 6 * spread + 1))
    # Of many numbers every third or fifth is enough: odd, since even and odd ones differ in their thresholds.
    step = max(1, (last - first) // _MOST_POINTS) | 1
    total = shown = 0.0
    for n in range(first, last + 1, step):
        weight = probability(n, pairs, discordance)
        total += weight
        shown += weight * at_least(_threshold(n, alpha), n, share)
    return shown / total


@lru_cache(maxsize=4096)
def _threshold(n: int, alpha: float) -> int:
    """Return how many of `n` discordant pairs have to be lost for the test to show a drop; n + 1 if none is enough."""
    low, high = n // 2, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mcnemar(middle, n - middle) <= alpha else (middle, high)
    return high


def holm(values: Sequence[float]) -> list[float]:
    """Return the p-values of several tests, adjusted so that all of them together keep the level.

    The step-down method of Holm (1979, Scandinavian Journal of Statistics 6:65); it needs
    no independence.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    adjusted = [1.0] * len(values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = largest
    return adjusted


DRAWS = 20_000
_MOST_BITS = 10_000_000  # A table of counts that takes a second or less.


def sign_flip(differences: Sequence[Fraction], *, seed: str = "", most_bits: int = _MOST_BITS) -> float:
    """Return the two-sided p-value of the sign-flip test on the sum of paired `differences`; 1.0 if all are 0.

    If nothing has changed, each pair could as well be the other way round. The p-value is the
    share of all ways to choose the signs under which the sum is at least as far from 0 as the
    one that was seen (Fisher 1935, The Design of Experiments, section 21; Pitman 1937,
    Supplement to the JRSS 4:119). It never alarms more often than its level. Of differences of
    one size it is the exact McNemar test.

    All ways are counted, by the sum of those with a plus. Where the counts would take more than
    `most_bits`, signs are drawn instead, from SHAKE-256 of `seed`, and what was seen is counted
    among the draws, so that the level holds there too (Phipson and Smyth 2010, Statistical
    Applications in Genetics and Molecular Biology 9:39).
    """
    scale = lcm(*(one.denominator for one in differences))
    units = [int(one * scale) for one in differences if one]
    sizes = Counter(map(abs, units))
    total, seen = sum(map(abs, units)), abs(sum(units))
    if not seen:
        return 1.0
    if (total + 1) * len(units) > most_bits:
        return _drawn(sizes, total, seen, seed)
    return _counted(sizes, total, seen)


def _counted(sizes: Counter[int], total: int, seen: int) -> float:
    """Return the share of all sign patterns that are at least as extreme."""
    n = sizes.total()
    # One whole number holds all counts side by side, n + 1 bits for each sum: none is more than 2^n.
    width = n + 1
    counts = 1
    for size, times in sizes.items():
        for _ in range(times):
            counts += counts << (size * width)
    # The sum is 2s - total, where s is the sum of those with a plus: both ends are equal.
    last = (total - seen) // 2
    tail = counts & ((1 << (last + 1) * width) - 1)
    # As the sum of a number's digits is its rest by 9: what stands side by side is added up.
    extreme = tail % ((1 << width) - 1)
    return min(1.0, 2 * extreme / (1 << n))


def _drawn(sizes: Counter[int], total: int, seen: int, seed: str) -> float:
    """Return the share of drawn sign patterns that are at least as extreme, the one that was seen among them."""
    bits = sizes.total()
    start = hashlib.sha256(seed.encode()).digest()
    extreme = 1
    for number in range(DRAWS):
        draw = int.from_bytes(hashlib.shake_256(start + number.to_bytes(4, "big")).digest((bits + 7) // 8), "big")
        plus = 0
        for size, times in sizes.items():
            plus += size * (draw & ((1 << times) - 1)).bit_count()
            draw >>= times
        extreme += abs(2 * plus - total) >= seen
    return extreme / (DRAWS + 1)


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
