"""Meter: what the live calls of a run have cost so far, and whether another one may begin."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.core.budget import Cost, reason
from pytest_recall.core.exchange import Exchange
from pytest_recall.store.ledger import Ledger


class Meter:
    """The budget of a run, which all of its processes share. `cost` says what a call has cost.

    A call that has begun is never cut off, so that a run passes its budget by no more than
    the calls in flight.
    """

    def __init__(self, budget: float, ledger: Ledger, cost: Callable[[Exchange], Cost]) -> None:
        self.budget = budget
        self._ledger = ledger
        self._cost = cost
        self._unpriced = ""

    def count(self, exchange: Exchange) -> None:
        """Take in a live call that has ended."""
        cost = self._cost(exchange)
        if cost.unpriced_model:
            self._unpriced = cost.unpriced_model
        self._ledger.add(cost.usd)

    def closed(self) -> str:
        """Return why no further call may begin; empty if one may."""
        spent, _ = self._ledger.sums()
        return reason(self.budget, spent, self._unpriced)

    def sums(self) -> tuple[float, int]:
        """Return what was spent so far, in US dollars, and how many calls have no known cost."""
        return self._ledger.sums()

    def close(self) -> None:
        """Forget what was spent: the journal knows it better."""
        self._ledger.remove()
