"""Repeats: several trials of each case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.intervals import wilson
from pytest_recall.trials.series import repeats, summarize_repeats
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, case_ids, outcomes, unhurried


def test_of_one_case() -> None:
    (one,) = repeats({"a": [PASSED, FAILED, PASSED, ERROR, SKIPPED]})
    assert (one.case_id, one.trials, one.passed, one.undecided) == ("a", 3, 2, 2)
    assert one.coin_flip
    assert one.interval == wilson(2, 3)
    assert [one.at(k) for k in (1, 2, 3, 4)] == [pytest.approx(2 / 3), 1.0, 1.0, None]
    assert [one.hat(k) for k in (1, 2, 3, 4)] == [pytest.approx(2 / 3), pytest.approx(1 / 3), 0.0, None]


def test_summary() -> None:
    found = repeats({"b": [FAILED] * 4, "a": [PASSED] * 4, "c": [PASSED, FAILED] * 2, "short": [PASSED, ERROR]})
    assert [one.case_id for one in found] == ["a", "b", "c", "short"]
    summary = summarize_repeats(found, 2)
    assert (summary.k, summary.cases, summary.short, summary.coin_flips) == (2, 3, 1, 1)
    assert summary.pass_at_k == pytest.approx((1 + 0 + 5 / 6) / 3)
    assert summary.pass_hat_k == pytest.approx((1 + 0 + 1 / 6) / 3)


def test_no_verdict_is_no_pass_rate() -> None:
    (one,) = repeats({"a": [ERROR, ERROR]})
    assert (one.trials, one.undecided, one.coin_flip, one.interval, one.at(1)) == (0, 2, False, None, None)
    summary = summarize_repeats([one], 1)
    assert (summary.cases, summary.short, summary.pass_at_k, summary.pass_hat_k) == (0, 1, None, None)


def test_no_case() -> None:
    assert summarize_repeats(repeats({}), 3) == (3, 0, 0, None, None, None, 0)


@given(st.dictionaries(case_ids, st.lists(outcomes, max_size=8), max_size=8), st.integers(1, 4))
@unhurried
def test_all_of_k_is_harder_than_one_of_k(tried: dict[str, list[object]], k: int) -> None:
    found = repeats(tried)  # type: ignore[arg-type]
    summary, once = summarize_repeats(found, k), summarize_repeats(found, 1)
    assert summary.cases + summary.short == len(tried)
    if summary.pass_at_k is not None and summary.pass_hat_k is not None:
        assert 0 <= summary.pass_hat_k <= summary.pass_at_k <= 1
        assert k > 1 or once.pass_at_k == once.pass_hat_k
