"""Compute how many runs rule out a break of some cases, and whether a pass rate has fallen.

Both go by the hypergeometric distribution (Johnson, Kemp and Kotz 2005, Univariate Discrete Distributions, chapter 6).
"""

from __future__ import annotations

from fractions import Fraction
from math import comb, exp, lgamma, perm


def runs_to_exclude(cases: int, broken: int, confidence: float = 0.95) -> int:
    """Return how many of `cases` have to run, none of them failing, until a break of `broken` ones is excluded.

    That is the smallest number with which a random draw would have missed them all with a probability of at most
    1 - `confidence`. It takes a broken case for one that always fails. Raises ValueError for counts that cannot be.
    """
    if broken < 1:
        raise ValueError(f"{broken} broken cases cannot be excluded; needs 1 at least")
    _check(cases, broken, 0)
    low, high = 0, cases - broken + 1  # With the latter no draw misses them.
    level = 1 - Fraction(str(confidence))
    every = perm(cases, broken)
    while low < high:
        middle = (low + high) // 2
        if perm(cases - middle, broken) <= level * every:
            high = middle
        else:
            low = middle + 1
    return low


def smallest_excluded(cases: int, drawn: int, confidence: float = 0.95) -> int | None:
    """Return the smallest number of broken cases that `drawn` of `cases`, none failing, exclude.

    A break of fewer may still be among the others. None if nothing was drawn, which excludes nothing.
    Raises ValueError for counts that cannot be.
    """
    _check(cases, 0, drawn)
    if not drawn:
        return None
    low, high = 1, cases - drawn + 1
    level = 1 - Fraction(str(confidence))
    while low < high:
        middle = (low + high) // 2
        if perm(cases - drawn, middle) <= level * perm(cases, middle):
            high = middle
        else:
            low = middle + 1
    return low


def fall_by_chance(before: tuple[int, int], after: tuple[int, int]) -> float:
    """Return the probability that chance alone makes a pass rate fall at least as far as from `before` to `after`.

    Both are counts of passes and fails. Fisher's exact test (1935, JRSS 98:39), one-sided. 1.0 where one has no trials.
    Raises ValueError for a count below 0.
    """
    if min(*before, *after) < 0:
        raise ValueError(f"{before} and {after} are not counts of passes and fails")
    first, second, passed = sum(before), sum(after), before[0] + after[0]
    least, most = max(0, passed - first), min(second, passed)
    if first + second <= _EXACT:
        ways = sum(comb(second, n) * comb(first, passed - n) for n in range(least, after[0] + 1))
        return ways / comb(first + second, passed)

    def chance(n: int) -> float:
        return exp(_log_comb(second, n) + _log_comb(first, passed - n) - _log_comb(first + second, passed))

    # From the end of the tail that is asked for, away from the mean, each term is smaller than the one before.
    if after[0] * (first + second) <= passed * second:
        term = total = chance(after[0])
        for n in range(after[0], least, -1):
            term *= n * (first - passed + n) / ((second - n + 1) * (passed - n + 1))
            total += term
            if term < total * 1e-17:
                break
        return min(total, 1.0)
    if after[0] == most:
        return 1.0
    term = total = chance(after[0] + 1)
    for n in range(after[0] + 1, most):
        term *= (second - n) * (passed - n) / ((n + 1) * (first - passed + n + 1))
        total += term
        if term < total * 1e-17:
            break
    return max(1.0 - total, 0.0)


_EXACT = 400
"""Up to so many trials the test is computed in whole numbers."""


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _check(cases: int, broken: int, drawn: int) -> None:
    if not (0 <= broken <= cases and 0 <= drawn <= cases):
        raise ValueError(f"{broken} broken and {drawn} drawn of {cases} cases: neither can be below 0 or above all")
