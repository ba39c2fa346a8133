"""Budget: whether a run may make another call, by what its calls have cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recall.core.call import Call


def unpriced(call: Call) -> str:
    """Return the model of a call whose tokens are known and whose price is not; else an empty text.

    No call of that model can be counted.
    """
    counted = call.tokens is not None and call.tokens.input is not None
    return (call.model or "a model without a name") if counted and call.cost is None else ""


def reason(budget: float, spent: float, unpriced_model: str = "") -> str:
    """Return why no further call may begin once `spent` of `budget` dollars are gone; empty if one may.

    What cannot be counted cannot be kept within a budget either.
    """
    if unpriced_model:
        return (
            f"the price of `{unpriced_model}` is unknown, so that no budget can be kept;"
            " add it to `prices` in rubric.yaml, or leave out --budget"
        )
    return f"the budget of ${budget:,.2f} is spent" if spent >= budget else ""


def dollars_of(text: str) -> float:
    """Return the amount that a person wrote as `2`, `2.00` or `$2`. Raises ValueError."""
    try:
        amount = float(text.strip().removeprefix("$"))
    except ValueError:
        amount = -1.0
    if not 0 < amount < 1e9:
        raise ValueError(f"{text!r} is no amount of US dollars above 0, such as 2.00")
    return amount
