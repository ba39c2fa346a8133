"""Budgets: when no further call may begin, and what is not an amount of money."""

from __future__ import annotations

import pytest

from pytest_recall.replay.budget import SpentBudget, dollars_of, spent_text


@pytest.mark.parametrize(
    ("usd", "text"), [(2000.5, "$2,000.50"), (0.001, "$0.001"), (0.00001, "$0.00001"), (0.005, "$0.005")]
)
def test_it_says_how_much_there_was(usd: float, text: str) -> None:
    assert spent_text(SpentBudget(usd, is_spent=True)) == f"the budget of {text} is spent"


def test_what_cannot_be_counted_ends_it_at_once() -> None:
    text = spent_text(SpentBudget(5, is_spent=False, unpriced="mine"))
    assert text.startswith("the price of `mine` is unknown, so that no budget can be kept;")


@pytest.mark.parametrize(("text", "amount"), [("2", 2.0), ("2.00", 2.0), ("$0.5", 0.5), (" 3 ", 3.0)])
def test_amounts(text: str, amount: float) -> None:
    assert dollars_of(text) == amount


@pytest.mark.parametrize("text", ["", "0", "-1", "nan", "inf", "two", "1e12", "2 EUR"])
def test_what_is_no_amount(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of US dollars above 0, such as"):
        dollars_of(text)
