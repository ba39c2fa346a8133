"""Budgets: when no further call may begin, and what is not an amount of money."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.budget import dollars_of, reason


@given(st.floats(0.01, 1e6), st.floats(0, 1e6))
def test_a_call_may_begin_as_long_as_something_is_left(budget: float, spent: float) -> None:
    assert bool(reason(budget, spent)) == (spent >= budget)


def test_it_says_how_much_there_was() -> None:
    assert reason(2000.5, 3000) == "the budget of $2,000.50 is spent"
    assert reason(0.001, 1) == "the budget of $0.001 is spent"
    assert reason(0.00001, 1) == "the budget of $0.00001 is spent"
    assert reason(0.005, 0.005) == "the budget of $0.005 is spent"


def test_what_cannot_be_counted_ends_it_at_once() -> None:
    assert reason(5, 0, "mine").startswith("the price of `mine` is unknown, so that no budget can be kept;")


@pytest.mark.parametrize(("text", "amount"), [("2", 2.0), ("2.00", 2.0), ("$0.5", 0.5), (" 3 ", 3.0)])
def test_amounts(text: str, amount: float) -> None:
    assert dollars_of(text) == amount


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "two", "1e12", "2 EUR"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of US dollars above 0, such as"):
        dollars_of(text)
