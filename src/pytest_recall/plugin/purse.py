"""Purse: the hook of a session with a budget, which leaves alone what cannot be paid for."""

from __future__ import annotations

import pytest

from pytest_recall.plugin.cassettes import Deck
from pytest_recall.plugin.stash import AHEAD, CASE_ID, OUTCOME, UNPAID
from pytest_recall.trials.trial import Outcome


class Purse:
    """Skips cases once the money is spent: they are not run, and nothing is known of them."""

    def __init__(self, deck: Deck) -> None:
        self._deck = deck

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the case, before its fixtures can cost anything; one that was begun goes on to its next call."""
        if CASE_ID not in item.stash or AHEAD in item.stash:
            return
        item.stash[UNPAID] = why = self._deck.spent_out
        if why:
            item.stash[OUTCOME] = Outcome.SKIPPED
            pytest.skip(f"not run: {why}")
