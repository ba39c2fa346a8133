"""Compute whether a pass rate has fallen, by Fisher's exact test (1935, JRSS 98:39), one-sided."""

from __future__ import annotations

from math import comb, exp, lgamma


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
