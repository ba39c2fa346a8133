"""Binomial probabilities and the interval of a pass rate, against published and independent values."""

from __future__ import annotations

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.intervals import at_least, critical, probability, wilson
from tests.helpers.samples import unhurried

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("passed", "n", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17:857, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_is_as_published(passed: int, n: int, low: float, high: float) -> None:
    assert wilson(passed, n) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("passed", "n", "confidence", "low", "high"),
    [
        # statsmodels 0.15.0, proportion_confint(method="wilson")
        (0, 10, 0.95, 0.0, 0.27753279986288926),
        (7, 10, 0.95, 0.39677814746114537, 0.8922087325936989),
        (160, 200, 0.99, 0.7180465815881159, 0.8626878537560783),
        (199, 200, 0.99, 0.9587991180797599, 0.9994127002381603),
    ],
)
def test_wilson_at_other_levels(passed: int, n: int, confidence: float, low: float, high: float) -> None:
    assert wilson(passed, n, confidence) == pytest.approx((low, high))


@given(counts, st.floats(0.5, 0.999))
@unhurried
def test_wilson_holds_the_rate_and_mirrors(count: tuple[int, int], confidence: float) -> None:
    passed, n = count
    interval, mirrored = wilson(passed, n, confidence), wilson(n - passed, n, confidence)
    assert interval is not None
    assert mirrored is not None
    low, high = interval
    assert 0 <= low <= passed / n <= high <= 1
    assert mirrored == pytest.approx((1 - high, 1 - low))


def test_no_trials_have_no_rate() -> None:
    assert wilson(0, 0) is None


def test_critical_values() -> None:
    assert critical(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert critical(0.99) == pytest.approx(2.575829, abs=1e-6)


@given(counts, st.floats(0, 1))
@unhurried
def test_the_tail_is_the_sum_of_its_terms(count: tuple[int, int], p: float) -> None:
    k, n = count
    terms = [comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1)]
    assert at_least(k, n, p) == pytest.approx(sum(terms), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "n", "p", "tail"), [(0, 5, 0.1, 1.0), (6, 5, 0.9, 0.0), (3, 5, 0.0, 0.0), (5, 5, 1.0, 1.0)]
)
def test_the_ends_of_the_tail(k: int, n: int, p: float, tail: float) -> None:
    assert at_least(k, n, p) == tail


def test_small_tails_keep_their_precision() -> None:
    assert at_least(1000, 1000, 0.5) == 2.0**-1000
    # scipy 1.17.1, binom.sf
    assert at_least(90, 100, 0.1) == pytest.approx(6.11023682419113e-78, rel=1e-9)
    assert at_least(52_000, 100_000, 0.5) == pytest.approx(5.765469333363917e-37, rel=1e-9)


@pytest.mark.parametrize(("n", "p"), [(10, 0.3), (1500, 0.5), (3, 0.0), (3, 1.0)])
def test_probabilities_add_up(n: int, p: float) -> None:
    assert sum(probability(k, n, p) for k in range(-1, n + 2)) == pytest.approx(1)
