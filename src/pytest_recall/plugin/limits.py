"""Stop asking when a provider is down or the budget is spent.

Each process counts the trials that end in it, and the controller of xdist those of all workers; the first to come
to the limit writes it into a file that the others look for. The cases that are left are not run: nothing is known of
them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from pytest_recall.files.disk import write_text
from pytest_recall.models.outage import Streak, outage_of
from pytest_recall.plugin.cassettes import CassetteManager
from pytest_recall.plugin.stash import AHEAD, CASE_ID, OUTCOME, UNASKED, UNPAID
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.models.outage import Outage


class Breaker:
    """What is asked no more in this run: the agent under test, under an empty name, or a baseline by its own."""

    def __init__(self, place: Place, run: str, limit: int, *, follows: bool) -> None:
        self._limit = limit
        self._file = place.artifacts.folder / f".outage-{run}"
        self._follows = follows
        self._streaks: dict[str, Streak] = {}
        self._why: dict[str, str] = {}
        self._lock = threading.Lock()

    def take(self, arm: str, outage: Outage | None) -> None:
        """Take in how a trial of the agent under test or of a baseline has ended: by an outage, or not."""
        self.take_in(arm, "" if outage is None else outage.key, "" if outage is None else outage.said)

    def take_in(self, arm: str, key: str, said: str) -> None:
        """Take in the same of a trial that ended in another process."""
        with self._lock:
            if not self._streaks.setdefault(arm, Streak(self._limit)).add(key) or arm in self._why:
                return
            whose = f" of the baseline `{arm}`" if arm else ""
            self._why[arm] = f"{self._limit} trials{whose} in a row ended alike: {said}"
            with suppress(OSError):  # The other processes then count for themselves.
                write_text(self._file, json.dumps(self._why))

    def closed(self, arm: str) -> str:
        """Return why the agent under test, or a baseline, is not asked any more; empty if it is."""
        if arm not in self._why and self._follows and self._file.exists():
            self._take_in_others()
        return self._why.get(arm, "")

    def _take_in_others(self) -> None:
        with suppress(OSError, ValueError), self._lock:
            self._why.update(json.loads(self._file.read_text(encoding="utf-8")))

    def stopped(self) -> dict[str, str]:
        """Return why the agent under test and baselines were not asked any more, those that were not."""
        self._take_in_others()
        return {arm: f"{why}; no more cases run" for arm, why in self._why.items()}

    def leave_out(self, item: pytest.Item) -> None:
        """Skip a case that would be asked in vain. Raises pytest's own exception for that."""
        if why := self.closed(getattr(item, "arm", "")):
            item.stash[UNASKED] = why
            item.stash[OUTCOME] = Outcome.SKIPPED
            pytest.skip(f"not run: {why}")

    @contextmanager
    def counted(self, item: pytest.Item) -> Iterator[None]:
        """Count how asking a case ends, inside; it is skipped if the provider is down by then."""
        self.leave_out(item)
        arm = getattr(item, "arm", "")
        try:
            yield
        except Exception as error:
            self.take(arm, outage_of(error))
            raise
        self.take(arm, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave a case alone before its fixtures can cost anything."""
        if CASE_ID in item.stash and AHEAD not in item.stash:
            self.leave_out(item)

    def close(self) -> None:
        """Delete the file, at the end of the run."""
        if not self._follows:
            with suppress(OSError):
                self._file.unlink(missing_ok=True)


class BudgetGate:
    """Skips cases once the money is spent: they are not run, and nothing is known of them."""

    def __init__(self, manager: CassetteManager) -> None:
        self._manager = manager

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip the case, before its fixtures can cost anything; one that was begun goes on to its next call."""
        if CASE_ID not in item.stash or AHEAD in item.stash:
            return
        item.stash[UNPAID] = why = self._manager.spent_out
        if why:
            item.stash[OUTCOME] = Outcome.SKIPPED
            pytest.skip(f"not run: {why}")
