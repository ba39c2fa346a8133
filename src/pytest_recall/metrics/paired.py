"""Paired verdicts: whether the same cases pass less often in a second run, or it could be chance.

`lost` cases passed in the first run and failed in the second, `gained` ones the other way
round; only these, the discordant pairs, tell the runs apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, floor, sqrt

from pytest_recall.metrics.binomial import Interval, at_least, critical, probability

POWER = 0.8
_MOST_POINTS = 81
_PRECISION = 1e-4


def mcnemar(lost: int, gained: int, *, mid: bool = False) -> float:
    """Return the two-sided p-value of McNemar's test, by the binomial distribution; 1.0 without discordant pairs.

    The exact test (McNemar 1947, Psychometrika 12:153, with Fisher's conditional
    distribution) never alarms more often than its level, whatever the number of pairs.
    `mid` counts the seen outcome by half: more power, and a level that is met on average
    but not in each case (Fagerland, Lydersen and Laake 2013, BMC Medical Research
    Methodology 13:91).
    """
    n = lost + gained
    if n == 0:
        return 1.0
    more = max(lost, gained)
    tail = at_least(more, n, 0.5)
    if mid:
        # Where both directions are equal, the two tails share the outcome that was seen.
        return min(1.0, 2 * tail - probability(more, n, 0.5))
    return min(1.0, 2 * tail)


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
