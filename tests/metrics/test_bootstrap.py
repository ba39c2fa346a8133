"""The bootstrap of a mean: against scipy, and what holds for every sample."""

from __future__ import annotations

from math import fsum, inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.paired import mean_interval
from tests.helpers.samples import unhurried

# fmt: off
MIXED = [0.1, 0.0, -0.3, 0.5, 0.2, 0.0, 0.0, 0.4, -0.1, 0.25,
         0.6, -0.2, 0.05, 0.15, 0.3, 0.0, -0.4, 0.35, 0.45, 0.1]
# fmt: on
SKEWED = [0.0] * 25 + [1.0, 0.5, 0.9, 0.2, 0.8]


@pytest.mark.parametrize(
    ("differences", "low", "high"),
    [
        # scipy 1.17.1, bootstrap(method="BCa", n_resamples=200_000)
        (MIXED, 0.0100, 0.2375),
        (SKEWED, 0.03667, 0.25667),
    ],
)
def test_it_is_the_bca_interval(differences: list[float], low: float, high: float) -> None:
    found = mean_interval(differences, resamples=20_000)
    assert found == pytest.approx((low, high), abs=0.006)


def test_the_same_seed_gives_the_same_interval_on_every_machine() -> None:
    assert mean_interval(MIXED, seed="a") == pytest.approx((0.0075, 0.235), abs=1e-12)
    assert mean_interval(SKEWED * 4, seed="a") == pytest.approx((0.0675, 0.1725), abs=1e-12)
    assert mean_interval(MIXED, seed="a") != mean_interval(MIXED, seed="b")


def differ(values: list[float]) -> bool:
    """Whether the values differ by more than rounding."""
    return bool(values) and max(values) - min(values) > 1e-11


differences = st.lists(st.floats(-1, 1), max_size=30).filter(differ)


@given(differences, st.sampled_from([0.9, 0.99]))
@unhurried
def test_it_stays_within_what_was_seen(values: list[float], confidence: float) -> None:
    found = mean_interval(values, confidence, resamples=200)
    assert found is not None
    assert min(values) <= found[0] <= found[1] <= max(values)


@given(differences)
@unhurried
def test_more_confidence_is_wider(values: list[float]) -> None:
    narrow, wide = (mean_interval(values, confidence, resamples=200) for confidence in (0.8, 0.99))
    assert narrow is not None
    assert wide is not None
    assert wide[0] <= narrow[0]
    assert narrow[1] <= wide[1]


def test_one_value_far_from_all_others() -> None:
    """The correction of BCa has a pole there, between these two levels."""
    near, far = (mean_interval([0.0] * 99 + [1.0], 1 - missing, resamples=200) for missing in (1e-6, 1e-12))
    assert near is not None
    assert 0 <= near[0] <= 0.01 <= near[1] <= 1
    assert far == near


@pytest.mark.parametrize("values", [[], [0.5], [0.25] * 50, [0.1, 0.3 - 0.2] * 9])
def test_values_that_do_not_differ_show_no_spread(values: list[float]) -> None:
    assert mean_interval(values) is None


@pytest.mark.parametrize("value", [nan, inf])
def test_values_that_are_no_numbers(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval([0.1, value])


def test_it_covers_the_true_mean_as_often_as_it_says() -> None:
    """100 samples from a known distribution; 95 % intervals, so that 95 are expected to hold the mean."""
    covered = 0
    for sample in range(100):
        state = sample * 7919 + 1
        values = []
        for _ in range(40):
            state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            values.append((state >> 33) / 2**31)
        found = mean_interval(values, seed=str(sample), resamples=400)
        assert found is not None
        covered += found[0] <= 0.5 <= found[1]
    assert 90 <= covered <= 99


def test_ten_thousand_pairs() -> None:
    values = [(i * 37 % 101 - 50) / 100 for i in range(10_000)]
    mean = fsum(values) / len(values)
    found = mean_interval(values, resamples=200)
    assert found is not None
    # The standard error is 0.2915 / 100.
    assert found == pytest.approx((mean - 0.0057, mean + 0.0057), abs=0.0012)
