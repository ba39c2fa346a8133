"""Meter: what the live calls of a run have cost so far, and whether another one may begin."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.core.budget import reason, unpriced
from pytest_recall.core.call import Call
from pytest_recall.core.exchange import Exchange
from pytest_recall.store.ledger import Ledger


class Meter:
    """The budget of a run, which all of its processes share. `call_of` says what a live exchange has cost.

    A call that has begun is never cut off, so that a run passes its budget by no more than
    the calls in flight.
    """

    def __init__(self, budget: float, ledger: Ledger, call_of: Callable[[Exchange], Call]) -> None:
        self.budget = budget
        self._ledger = ledger
        self.call_of = call_of
        self._unpriced = ""

    def count(self, call: Call) -> None:
        """Take in a live call that has ended."""
        self._unpriced = unpriced(call) or self._unpriced
        self._ledger.add(call.cost)

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
