"""Clustered values: intervals that know that a question asked twice is one question."""

from __future__ import annotations

from math import isclose, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.clustered import (
    Clustered,
    clustered_mean,
    clustered_share,
    clustered_slope,
    widened,
)
from pytest_recall.metrics.intervals import critical, critical_t, mean_of, share_of

POINTS = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=30)


@given(POINTS)
def test_values_that_are_each_their_own_group_have_the_t_interval(values: list[float]) -> None:
    found = clustered_mean(enumerate(values), within=(0, 6))
    plain = mean_of(values)
    assert found.value is not None
    assert isclose(found.value, plain.value or 0, abs_tol=1e-12)
    assert (found.low is None) == (plain.low is None)
    if found.low is not None and found.high is not None and plain.low is not None and plain.high is not None:
        assert isclose(found.low, max(plain.low, 0), abs_tol=1e-9)
        assert isclose(found.high, min(plain.high, 6), abs_tol=1e-9)


@given(POINTS, st.integers(2, 5))
def test_asking_the_same_again_teaches_nothing(values: list[float], times: int) -> None:
    once = clustered_mean(enumerate(values))
    often = clustered_mean((place, value) for place, value in enumerate(values) for _ in range(times))
    assert often.n == times * once.n
    assert often.clusters == once.clusters
    for one, other in zip(once[:3], often[:3], strict=True):
        assert (one is None) == (other is None)
        assert one is None or other is None or isclose(one, other, abs_tol=1e-9)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=60))
def test_a_share_lies_within_its_interval_and_that_within_0_and_1(values: list[tuple[int, bool]]) -> None:
    found = clustered_share(values)
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_share_of_none_says_as_much_as_there_are_groups() -> None:
    often = clustered_share((place % 10, False) for place in range(1000))
    once = clustered_share((place, False) for place in range(10))
    assert often[:3] == once[:3]
    assert often.high == pytest.approx(0.2775, abs=1e-4)  # Wilson, 0 of 10


def test_a_share_by_hand() -> None:
    # Five groups of two passes, three of two fails, two of one each: 12 of 20; sums of deviations 0.8, -1.2 and -0.2.
    outcomes = {**dict.fromkeys(range(5), (1, 1)), **dict.fromkeys(range(5, 8), (0, 0)), 8: (1, 0), 9: (0, 1)}
    found = clustered_share((key, bool(one)) for key, pair in outcomes.items() for one in pair)
    variance = 10 / 9 * (5 * 0.8**2 + 3 * 1.2**2 + 2 * 0.2**2) / 20**2
    # As many independent values as have this variance, fewer by Student's t of 9 degrees.
    alike = 0.6 * 0.4 / variance * (critical(0.95) / critical_t(9)) ** 2
    assert 8.5 < alike < 8.6
    z = critical(0.95)
    centre, half = 0.6 * alike + z * z / 2, z * sqrt(0.6 * 0.4 * alike + z * z / 4)
    assert found[:3] == pytest.approx((0.6, (centre - half) / (alike + z * z), (centre + half) / (alike + z * z)))
    assert found[3:] == (20, 10)


def test_a_mean_by_hand() -> None:
    # Groups (6, 0) and (6, 6) and (3): mean 21 / 5; sums of deviations -2.4, 3.6, -1.2.
    found = clustered_mean([("a", 6), ("a", 0), ("b", 6), ("b", 6), ("c", 3)])
    half = critical_t(2) * sqrt(3 / 2 * (2.4**2 + 3.6**2 + 1.2**2) / 25)
    assert found[:3] == pytest.approx((4.2, 4.2 - half, 4.2 + half))
    assert found[3:] == (5, 3)


@pytest.mark.parametrize("values", [[], [("a", 1.0), ("a", 2.0)], [("a", 2.0), ("b", 2.0)]])
def test_what_shows_no_spread_has_no_interval(values: list[tuple[str, float]]) -> None:
    assert clustered_mean(values)[1:3] == (None, None)


def test_without_values_there_is_nothing() -> None:
    assert clustered_mean([]) == clustered_share([]) == clustered_slope([]) == Clustered(None, None, None, 0, 0)


@given(
    st.dictionaries(st.integers(0, 9), st.floats(-5, 5), min_size=2, max_size=8),
    st.floats(-2, 2),
    st.lists(st.integers(0, 50), min_size=2, max_size=6, unique=True),
)
def test_a_slope_is_found_whatever_the_level_of_a_group(
    levels: dict[int, float], slope: float, days: list[int]
) -> None:
    found = clustered_slope((key, day, level + slope * day) for key, level in levels.items() for day in days)
    assert found.value is not None
    assert isclose(found.value, slope, abs_tol=1e-6)


def test_a_slope_knows_nothing_of_groups_that_were_asked_once() -> None:
    early, late = [(f"e{n}", 0.0, 6.0) for n in range(9)], [(f"l{n}", 1.0, 0.0) for n in range(9)]
    steady = [(key, day, 3.0) for key in "ab" for day in (0.0, 1.0)]
    assert clustered_slope([*early, *late]) == Clustered(None, None, None, 0, 0)
    assert clustered_slope([*early, *late, *steady]) == Clustered(0.0, None, None, 4, 2)


def test_a_slope_by_hand() -> None:
    # Within groups x is -0.5 and 0.5; slopes 2 and 0, together 1; scores ±0.5.
    found = clustered_slope([("a", 0, 0), ("a", 1, 2), ("b", 0, 5), ("b", 1, 5)])
    half = critical_t(1) * sqrt(2 * (0.25 + 0.25) / 1)
    assert found[:3] == pytest.approx((1, 1 - half, 1 + half))
    assert found[3:] == (4, 2)
    # The same with twice the distance in x: all is half as large.
    wider = clustered_slope([("a", 0, 0), ("a", 2, 2), ("b", 0, 5), ("b", 2, 5)])
    assert wider[:3] == pytest.approx((0.5, 0.5 - half / 2, 0.5 + half / 2))


def test_a_slope_of_one_group_has_no_interval() -> None:
    assert clustered_slope([("a", 0, 0), ("a", 1, 2), ("a", 2, 5)]) == Clustered(2.5, None, None, 3, 1)


GROUPED = st.lists(st.tuples(st.integers(0, 5), st.sampled_from([0.0, 0.25, 1.0])), min_size=1, max_size=40)


@given(GROUPED, st.booleans())
def test_an_interval_over_groups_is_never_narrower_than_the_one_over_values(
    values: list[tuple[int, float]], share: bool
) -> None:
    if share:
        values = [(group, float(value > 0.5)) for group, value in values]
    numbers = [value for _, value in values]
    plain = share_of(map(bool, numbers)) if share else mean_of(numbers, within=(0, 1))
    found = widened(plain, values, share=share, within=(0, 1))
    assert (found.value, found.n, found.low is None) == (plain.value, plain.n, plain.low is None)
    if plain.low is not None and plain.high is not None and found.low is not None and found.high is not None:
        assert 0 <= found.low <= plain.low
        assert plain.high <= found.high <= 1


def test_values_that_are_alike_in_their_groups_have_the_interval_of_these() -> None:
    values = [(group, level) for group, level in ((1, 0.4), (2, 0.45), (3, 0.55), (4, 0.6)) for _ in range(50)]
    found = widened(mean_of([value for _, value in values], within=(0, 1)), values, share=False, within=(0, 1))
    # CR1 by hand: the deviations of the four groups from 0.5, with G / (G - 1), and t of 3 degrees of freedom.
    half = 3.1824463 * sqrt(4 / 3 * (0.1**2 + 0.05**2 + 0.05**2 + 0.1**2)) / 4
    assert found.high == pytest.approx(0.5 + half)
    assert found.low == pytest.approx(0.5 - half)


def test_a_share_over_groups_has_the_wider_interval_of_these() -> None:
    values = [("a", 1.0)] * 10 + [("b", 0.0)] * 10
    plain, grouped = (
        share_of(value == 1 for _, value in values),
        clustered_share((key, value == 1) for key, value in values),
    )
    assert widened(plain, values, share=True, within=(0, 1))[2:4] == grouped[1:3] != plain[2:4]


def test_of_one_group_nothing_is_known_of_others() -> None:
    plain = mean_of([0.2, 0.4, 0.9])
    assert widened(plain, [("a", 0.2), ("a", 0.4), ("a", 0.9)], share=False, within=(0, 1)) == plain
