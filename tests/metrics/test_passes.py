"""pass@k and pass^k, against every choice of k trials out of n."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.intervals import pass_at_k, pass_hat_k
from tests.helpers.samples import unhurried


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
@unhurried
def test_they_are_shares_of_all_choices(counts: tuple[int, int, int]) -> None:
    n, passed, k = counts
    choices = list(combinations([True] * passed + [False] * (n - passed), k))
    assert pass_at_k(n, passed, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(n, passed, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@pytest.mark.parametrize(
    ("n", "passed", "k", "at", "hat"),
    [(10, 3, 1, 0.3, 0.3), (5, 2, 2, 0.7, 0.1), (200, 1, 100, 0.5, 0.0), (4, 4, 4, 1.0, 1.0), (4, 0, 4, 0.0, 0.0)],
)
def test_known_values(n: int, passed: int, k: int, at: float, hat: float) -> None:
    assert (pass_at_k(n, passed, k), pass_hat_k(n, passed, k)) == pytest.approx((at, hat))


def test_fewer_trials_than_k_estimate_nothing() -> None:
    assert (pass_at_k(2, 2, 3), pass_hat_k(2, 2, 3)) == (None, None)


def test_thousands_of_trials_do_not_overflow() -> None:
    assert pass_at_k(5000, 2500, 2000) == 1.0
    assert pass_hat_k(5000, 2500, 2) == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize(("n", "passed", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_counts_that_cannot_be(n: int, passed: int, k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="needs 0 <= passed <= n and k >= 1"):
            estimate(n, passed, k)
