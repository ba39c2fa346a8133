"""Whether a pass rate has fallen: the exact test against R's values, and against its own definition."""

from __future__ import annotations

from math import comb
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.scripts import loaded

fall_by_chance = loaded(Path(__file__).resolve().parents[2] / "benchmarks" / "schedule" / "fisher.py").fall_by_chance


def test_counts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="are not counts of passes and fails"):
        fall_by_chance((1, -1), (0, 0))


def test_a_fall_from_ten_of_ten_to_three_is_no_chance() -> None:
    """The values of R's `fisher.test(matrix(c(10, 0, 3, 7), 2), alternative = "greater")` and its like."""
    assert fall_by_chance((10, 0), (3, 7)) == pytest.approx(0.001547988)
    assert fall_by_chance((10, 0), (4, 6)) == pytest.approx(0.005417957)
    assert fall_by_chance((10, 0), (10, 0)) == 1.0
    assert fall_by_chance((0, 10), (10, 0)) == 1.0
    assert fall_by_chance((0, 0), (0, 10)) == fall_by_chance((10, 0), (0, 0)) == 1.0


@given(*[st.integers(0, 12)] * 4)
def test_the_chances_of_all_outcomes_add_up(passed: int, failed: int, after_passed: int, after_failed: int) -> None:
    before, after = (passed, failed), (after_passed, after_failed)
    total = passed + after_passed
    first, second = sum(before), sum(after)
    at_most = sum(
        comb(second, n) * comb(first, total - n)
        for n in range(after_passed + 1)
        if 0 <= total - n <= first and n <= second
    )
    assert fall_by_chance(before, after) == pytest.approx(at_most / comb(first + second, total))


@given(*[st.integers(0, 900)] * 4)
def test_many_trials_give_what_whole_numbers_give(
    passed: int, failed: int, after_passed: int, after_failed: int
) -> None:
    before, after = (passed, failed), (after_passed, after_failed)
    first, second, total = sum(before), sum(after), passed + after_passed
    ways = sum(comb(second, n) * comb(first, total - n) for n in range(max(0, total - first), after_passed + 1))
    assert fall_by_chance(before, after) == pytest.approx(ways / comb(first + second, total), rel=1e-6, abs=1e-9)


def test_a_million_trials_take_no_time() -> None:
    assert fall_by_chance((10**6, 0), (0, 10**6)) == 0.0
    assert fall_by_chance((5 * 10**5, 5 * 10**5), (5 * 10**5, 5 * 10**5)) == pytest.approx(0.5, abs=0.01)
    assert fall_by_chance((0, 10**6), (10**6, 0)) == 1.0
