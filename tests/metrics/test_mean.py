"""Means with their intervals, Student's t, percentiles, abstention, and the estimate of tokens."""

from __future__ import annotations

from fractions import Fraction
from math import inf, nan
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.abstention import refuses
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.metrics.intervals import Mean, Tally, critical_t, mean_of, percentile, percentiles, share_of, wilson
from tests.helpers.samples import unhurried

scores = st.lists(st.floats(0, 1), min_size=1, max_size=30)


# The values of printed tables.
@pytest.mark.parametrize(
    ("degrees", "t"),
    [(1, 12.7062047362), (2, 4.3026527297), (3, 3.1824463053), (10, 2.2281388520), (29, 2.0452296421),
     (120, 1.9799304051), (200, 1.9718962236), (201, 1.9718365068), (1000, 1.9623390808), (10**6, 1.9599663)],
)  # fmt: skip
def test_critical_t(degrees: int, t: float) -> None:
    assert critical_t(degrees) == pytest.approx(t, abs=1e-7)


def test_the_expansion_of_many_degrees_begins_where_the_exact_distribution_ends() -> None:
    # The exact value, by halving, which is not done from 201 degrees on.
    assert critical_t(201) == pytest.approx(1.9718365067799, abs=3e-12)


@pytest.mark.parametrize(("degrees", "confidence"), [(0, 0.95), (5, 0), (5, 1)])
def test_critical_t_of_what_cannot_be(degrees: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="needs 1 or more, and a confidence between 0 and 1"):
        critical_t(degrees, confidence)


def test_a_share_has_the_wilson_interval() -> None:
    found = share_of([True] * 8 + [False] * 2 + [None])
    assert found == (0.8, 10, *(wilson(8, 10) or ()), 1)
    assert (round(found.low or 0, 4), round(found.high or 0, 4)) == (0.4902, 0.9433)
    assert share_of([True] * 10).low == pytest.approx(0.7225, abs=1e-4)


def test_a_mean_has_the_interval_of_student() -> None:
    # 1, 2, 3, 4, 5: mean 3, standard error sqrt(2.5 / 5), t of 4 degrees 2.7764
    assert mean_of([1, 2, 3, 4, 5, None]) == pytest.approx((3, 5, 3 - 1.96324, 3 + 1.96324, 1), abs=1e-5)


def test_an_interval_has_the_confidence_that_is_asked_for() -> None:
    half = critical_t(4, 0.99) * (2.5 / 5) ** 0.5
    assert mean_of([1, 2, 3, 4, 5], confidence=0.99)[2:4] == pytest.approx((3 - half, 3 + half))
    assert share_of([True] * 8 + [False] * 2, confidence=0.99)[2:4] == wilson(8, 10, 0.99)


def test_failures_are_no_zeros() -> None:
    assert mean_of([0.5, None, None, 1.0]).value == 0.75
    assert mean_of([None, None]) == Mean(None, 0, None, None, 2)


def test_no_data_is_no_mean() -> None:
    assert mean_of([]) == share_of([]) == Mean(None, 0, None, None, 0)


@pytest.mark.parametrize("values", [[0.1], [0.1] * 7, [0.0, 0.0], [0.1 + 0.2, 0.3]])
def test_without_spread_there_is_no_interval(values: list[float]) -> None:
    found = mean_of(values)
    assert found.value == pytest.approx(values[0])
    assert (found.low, found.high) == (None, None)


@pytest.mark.parametrize("value", [nan, inf, -0.1, 1.1])
def test_a_value_out_of_bounds_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match=r"is not between 0\.0 and 1\.0"):
        Tally().add(value)


def test_a_share_is_of_yes_and_no() -> None:
    with pytest.raises(ValueError, match=r"0\.5 is not 0 or 1"):
        Tally(share=True).add(0.5)


@given(scores)
@unhurried
def test_an_interval_lies_around_its_mean_and_within_the_bounds(values: list[float]) -> None:
    found = mean_of(values, within=(0, 1))
    assert found.value is not None
    assert found.value == pytest.approx(float(sum(map(Fraction, values)) / len(values)))
    if found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.value <= found.high <= 1
        half = critical_t(len(values) - 1) * stdev(values) / len(values) ** 0.5
        assert found.low == pytest.approx(max(fmean(values) - half, 0), abs=1e-9)


def test_ninety_five_of_a_hundred_intervals_hold_the_true_mean() -> None:
    random = Random(1)
    held = 0
    for _ in range(2000):
        found = mean_of([random.betavariate(2, 3) for _ in range(15)], within=(0, 1))
        held += (found.low or 0) <= 0.4 <= (found.high or 0)
    assert 0.94 <= held / 2000 <= 0.96


def test_percentiles_between_two_values() -> None:
    assert percentiles([4, 1, 3, 2]) == pytest.approx({"p50": 2.5, "p90": 3.7, "p95": 3.85, "p99": 3.97})
    assert percentile([1.0, 2.0], 0) == 1
    assert percentile([1.0, 2.0], 100) == 2
    assert percentiles([7.0]) == {"p50": 7, "p90": 7, "p95": 7, "p99": 7}
    assert percentiles([]) == {"p50": None, "p90": None, "p95": None, "p99": None}
    with pytest.raises(ValueError, match="101 is not a percentile"):
        percentile([1.0], 101)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=20), st.floats(0, 100))
@unhurried
def test_numpy_says_the_same(values: list[float], level: float) -> None:
    numpy = pytest.importorskip("numpy")
    assert percentile(sorted(values), level) == pytest.approx(float(numpy.percentile(values, level)), abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("That is Confidential.", True), ("I can’t share that.", True), ("I don’t know.", False), ("Rome", False)],
)
def test_a_refusal_is_told_from_what_is_not_known(answer: str, expected: bool) -> None:
    assert refuses(answer) is expected


@pytest.mark.parametrize(("texts", "count"), [([], 0), ([""], 0), (["abc"], 1), (["abcd", "e"], 2), (["東京"], 1)])
def test_estimated_tokens(texts: list[str], count: int) -> None:
    assert estimated_tokens(texts) == count
