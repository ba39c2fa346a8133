"""Rates: a bucket lets through what a minute allows, whoever comes and whenever."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.core.rate import MINUTE, Bucket, Rate, full, take

COMINGS = st.lists(st.tuples(st.floats(0, 30), st.floats(0.1, 50)), min_size=1, max_size=40)


@given(st.floats(1, 500), COMINGS)
def test_no_stretch_of_time_has_more_than_a_burst_and_its_share(
    limit: float, comings: list[tuple[float, float]]
) -> None:
    bucket, now = full(limit, 0.0), 0.0
    used: list[tuple[float, float]] = []
    for pause, amount in comings:
        now += pause
        bucket, seconds = take(bucket, limit, amount, now)
        assert seconds >= 0
        used.append((now + seconds, amount))
    for first, (start, _) in enumerate(used):
        for end, _ in used[first:]:
            total = sum(amount for at, amount in used if start <= at <= end)
            # The last to come may be larger than a whole bucket.
            largest = max(amount for _, amount in comings)
            assert total <= limit + largest + (end - start) * limit / MINUTE + 1e-6


@given(st.floats(1, 500), COMINGS)
def test_who_comes_first_is_served_first(limit: float, comings: list[tuple[float, float]]) -> None:
    bucket, now, last = full(limit, 0.0), 0.0, 0.0
    for pause, amount in comings:
        now += pause
        bucket, seconds = take(bucket, limit, amount, now)
        assert now + seconds >= last - 1e-6 or seconds == 0
        last = max(last, now + seconds)


@given(st.floats(1, 500), st.floats(0, 1000), st.floats(0, 100), st.floats(0, 1000))
def test_what_is_given_back_is_there_again(limit: float, level: float, amount: float, now: float) -> None:
    bucket = Bucket(min(level, limit), now)
    taken, _ = take(bucket, limit, amount, now)
    given_back, _ = take(taken, limit, -amount, now)
    assert given_back.level == pytest.approx(bucket.level)


def test_a_minute_fills_it_and_no_more() -> None:
    bucket, seconds = take(full(60, 0), 60, 60, 0)
    assert (bucket.level, seconds) == (0, 0)
    assert take(bucket, 60, 1, 0)[1] == pytest.approx(1)
    assert take(bucket, 60, 60, 60)[1] == 0
    assert take(bucket, 60, 61, 3600)[1] == pytest.approx(1)


def test_a_clock_that_goes_back_gives_nothing() -> None:
    bucket, _ = take(full(60, 100), 60, 60, 100)
    assert take(bucket, 60, 1, 50)[1] == pytest.approx(1)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf")])
def test_a_rate_of_nothing_is_refused(limit: float) -> None:
    with pytest.raises(ValueError, match="a rate is a number above zero"):
        Rate(requests=limit)
