"""A change over groups of pairs: the signs of whole groups are flipped."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.change import ChangeSummary, ClusterDifference, Counts, change, changes

SUMS = (15, 10, 4, 17, -1, 7, 6, 10, 14, 4)
SIZES = (152, 81, 152, 199, 178, 123, 150, 191, 156, 158)


def counts(sums: tuple[int, ...], sizes: tuple[int, ...]) -> Counts:
    """Return the counts of yes and no whose differences add up to `sums`."""
    lost, gained = -sum(min(one, 0) for one in sums), sum(max(one, 0) for one in sums)
    groups = tuple(ClusterDifference(Fraction(one), size) for one, size in zip(sums, sizes, strict=True))
    return Counts(sum(sizes), 0, lost, gained, clusters=groups)


def test_ten_conversations_of_locomo() -> None:
    found = change(counts(SUMS, SIZES), 0.01)
    assert found.p == 4 / 1024
    assert found.shown is ChangeSummary.RISE
    low, high = found.interval
    assert low < found.difference < high
    # CR1 by its formula, with t of 9 degrees of freedom at 99 %.
    spread = sum((one - size * found.difference) ** 2 for one, size in zip(SUMS, SIZES, strict=True))
    assert high >= found.difference + 3.2498 * (10 / 9 * spread) ** 0.5 / 1540 - 1e-6


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=8))
def test_p_is_the_share_of_all_signs(sums: list[int]) -> None:
    seen = abs(sum(sums))
    flipped = [sum(map(mul, signs, sums)) for signs in product((1, -1), repeat=len(sums))]
    wanted = sum(abs(one) >= seen for one in flipped) / len(flipped)
    assert counts(tuple(sums), (9,) * len(sums)).p == pytest.approx(wanted)


def test_of_five_groups_nothing_can_be_shown() -> None:
    found = changes({"few": counts((9,) * 5, (9,) * 5), "many": counts((9,) * 10, (9,) * 10)}, 0.05)
    assert found["few"].counts.least == 2 / 2**5
    assert (found["few"].adjusted, found["few"].shown) == (None, ChangeSummary.NOTHING)
    assert found["many"].adjusted == 2 / 2**10  # The other one is not a test, and costs nothing.
