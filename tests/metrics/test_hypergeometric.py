"""Draws without replacement: runs that exclude a break, and pass rates that have fallen."""

from __future__ import annotations

from itertools import combinations
from math import comb, perm

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.hypergeometric import fall_by_chance, runs_to_exclude, smallest_excluded


def test_three_broken_of_185_need_117_runs() -> None:
    assert runs_to_exclude(185, 3) == 117
    assert perm(185 - 117, 3) / perm(185, 3) <= 0.05 < perm(185 - 116, 3) / perm(185, 3)
    assert smallest_excluded(185, 117) == 3
    assert smallest_excluded(185, 116) == 4


@pytest.mark.parametrize(("cases", "broken", "runs"), [(1, 1, 1), (20, 1, 19), (100, 1, 95), (10, 10, 1), (5, 5, 1)])
def test_the_ends(cases: int, broken: int, runs: int) -> None:
    assert runs_to_exclude(cases, broken) == runs


@given(st.integers(1, 9), st.sampled_from((0.5, 0.8, 0.95)), st.data())
def test_it_is_the_share_of_draws_that_miss_all(cases: int, confidence: float, data: st.DataObject) -> None:
    broken = data.draw(st.integers(1, cases))
    shares = []
    for drawn in range(cases + 1):
        draws = list(combinations(range(cases), drawn))
        shares.append(sum(all(one >= broken for one in draw) for draw in draws) / len(draws))
    wanted = next(drawn for drawn, share in enumerate(shares) if share <= 1 - confidence + 1e-9)
    assert runs_to_exclude(cases, broken, confidence) == wanted


@given(st.integers(1, 1500), st.data())
def test_both_ways_agree(cases: int, data: st.DataObject) -> None:
    broken = data.draw(st.integers(1, cases))
    runs = runs_to_exclude(cases, broken)
    assert 1 <= runs <= cases
    found = smallest_excluded(cases, runs)
    assert found is not None
    assert found <= broken
    if runs > 1:
        less = smallest_excluded(cases, runs - 1)
        assert less is not None
        assert less > broken


def test_without_a_run_nothing_is_excluded() -> None:
    assert smallest_excluded(10, 0) is None
    assert smallest_excluded(10, 10) == 1


def test_counts_that_cannot_be_are_refused() -> None:
    for count, wrong in ((runs_to_exclude, 4), (smallest_excluded, 4), (smallest_excluded, -1)):
        with pytest.raises(ValueError, match="neither can be below 0 or above all"):
            count(3, wrong)
    with pytest.raises(ValueError, match="0 broken cases cannot be excluded"):
        runs_to_exclude(3, 0)
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
