"""Budget: whether a run may make another call, by what its calls have cost."""

from __future__ import annotations

from typing import NamedTuple


class Cost(NamedTuple):
    """What one call has cost in US dollars, None if that is not known.

    `unpriced_model` names the model of a call whose tokens are known and whose price is not:
    no call of that model can be counted.
    """

    usd: float | None
    unpriced_model: str = ""


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
