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
from pytest_recall.models.outage import Streak
from pytest_recall.plugin.cassettes import CassetteManager
from pytest_recall.plugin.stash import CASSETTES, STATE, is_case, state_of
from pytest_recall.replay.budget import spent_text
from pytest_recall.results.stop_text import outage_line
from pytest_recall.trials.execution import ending_of
from pytest_recall.trials.run_stop import RunStop
from pytest_recall.trials.trial import Outcome

if TYPE_CHECKING:
    from pytest_recall.files.eval_directory import Place
    from pytest_recall.models.outage import Outage
    from pytest_recall.trials.trial import Trial


LIMIT = 5
"""After so many trials in a row that a provider keeps from a verdict in the same way, it is asked no more."""


class Breaker:
    """What is asked no more in this run: the agent under test, under an empty name, or a baseline by its own."""

    def __init__(self, place: Place, run: str, *, follows: bool) -> None:
        self._file = place.artifacts.folder / f".outage-{run}"
        self._follows = follows
        self._streaks: dict[str, Streak] = {}
        self._stops: dict[str, RunStop] = {}
        self._lock = threading.Lock()

    def take(self, arm: str, outage: Outage | None) -> None:
        """Take in how a trial of the agent under test or of a baseline has ended: by an outage, or not."""
        with self._lock:
            enough = self._streaks.setdefault(arm, Streak(LIMIT)).add("" if outage is None else outage.key)
            if outage is None or not enough or arm in self._stops:
                return
            self._stops[arm] = RunStop("outage", outage.message, LIMIT, outage.kind, outage.host)
            with suppress(OSError):  # The other processes then count for themselves.
                write_text(self._file, json.dumps({arm: stop.to_json() for arm, stop in self._stops.items()}))

    def count(self, trial: Trial) -> None:
        """Count how a trial has ended, unless it was skipped."""
        if trial.outcome is not Outcome.SKIPPED:
            self.take(trial.arm, trial.outage)

    def stop_of(self, arm: str) -> RunStop | None:
        """Return why the agent under test, or a baseline, is not asked any more; None if it is."""
        if arm not in self._stops and self._follows and self._file.exists():
            self._take_in_others()
        return self._stops.get(arm)

    def _take_in_others(self) -> None:
        with suppress(OSError, ValueError, TypeError), self._lock:
            plain = json.loads(self._file.read_text(encoding="utf-8"))
            self._stops.update({arm: RunStop.from_json(stop) for arm, stop in plain.items()})

    def stops(self) -> dict[str, RunStop]:
        """Return why the agent under test and baselines were not asked any more, those that were not."""
        self._take_in_others()
        return dict(self._stops)

    def leave_out(self, item: pytest.Item) -> None:
        """Skip a case that would be asked in vain. Raises pytest's own exception for that."""
        state = state_of(item)
        if (stop := self.stop_of(state.arm)) is not None:
            state.unasked, state.outcome = stop, Outcome.SKIPPED
            pytest.skip(f"not run: {outage_line(stop, state.arm)}")

    @contextmanager
    def counted(self, item: pytest.Item) -> Iterator[None]:
        """Count how asking a case ends, inside; it is skipped if the provider is down by then."""
        self.leave_out(item)
        arm = state_of(item).arm
        try:
            yield
        except Exception as error:
            outage = ending_of(error).outage
            self.take(arm, outage and outage.clean(item.config.stash[CASSETTES].redactor.redacted))
            raise
        self.take(arm, None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Leave a case alone before its fixtures can cost anything."""
        if is_case(item) and state_of(item).prefetch is None:
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
        state = item.stash.get(STATE, None)
        if state is None or state.prefetch is not None:
            return
        spent = self._manager.spent_out
        state.unpaid = spent is not None
        if spent is not None:
            state.outcome = Outcome.SKIPPED
            pytest.skip(f"not run: {spent_text(spent)}")
