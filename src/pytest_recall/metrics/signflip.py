"""Sign flips: whether paired differences of any size lean to one side, or it could be chance."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from math import lcm

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
