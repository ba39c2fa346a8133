"""Play a history of changes: each asks all cases that it affects, once, and a fail is confirmed.

The outcome of a trial is drawn from the pass rate that the history has for the case after the change. What trials come
to and how rows move is decided by the package, as in a run.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import NamedTuple

from history import Counts, History, MergedChange
from verdicts import is_fail, verdict

from pytest_recall.schedule.boxes import AFFECTED, review
from pytest_recall.trials.series import AnyRule
from pytest_recall.trials.trial import Row


class ChangeFigures(NamedTuple):
    """What a history came to over one draw.

    `usd` is a day, `cases` asked and `trials` of them as well. `caught` is the share, 0..1, of the changes that broke
    sound cases and failed by one of these. `false_alarms` are confirmed fails a day of cases that passed when they
    were last asked, and of which the history has no fall since. Both are None where it has no verdicts.
    """

    usd: float
    cases: float
    trials: float
    bad: int
    caught: float | None
    false_alarms: float | None


def play_changes(history: History, rule: AnyRule, usd: float, seed: int = 0) -> ChangeFigures:
    """Return what a history comes to at `usd` US dollars a trial."""
    return Changes(history, rule, seed).play(usd)


class Changes:
    """The changes of a history, one after the other."""

    def __init__(self, history: History, rule: AnyRule, seed: int) -> None:
        self.history, self.rule = history, rule
        self.noise = random.Random(f"{seed}:verdicts")
        self.counts: dict[int, Counts | None] = {}
        self.rows: dict[int, Row] = {}
        self.last_pass: dict[int, Counts] = {}  # The counts of a case when it last passed.
        self.cases = self.trials = self.bad = self.caught = self.false_alarms = 0

    def play(self, usd: float) -> ChangeFigures:
        """Return what they come to."""
        day = self.history.changes[0].day
        for change in self.history.changes:
            day = max(day, change.day)  # A rebased commit may be older than the one that it follows.
            if change.cases is not None:
                self.counts, self.rows = {}, {}
                for case in change.cases:
                    self._begin(case.number, case.counts, day)
            self.counts |= {one.number: one.after for one in change.changed if one.number in self.counts}
            self._ask_affected(change, day)
            for case in change.added:
                self._begin(case.number, case.counts, day)
            for index in change.removed:
                self.counts.pop(index, None)
                self.rows.pop(index, None)
        days, counted = self.history.days, self.history.counted
        return ChangeFigures(
            usd=self.trials * usd / days,
            cases=self.cases / days,
            trials=self.trials / days,
            bad=self.bad,
            caught=self.caught / self.bad if self.bad else None,
            false_alarms=self.false_alarms / days if counted else None,
        )

    def _begin(self, index: int, counts: Counts | None, day: date) -> None:
        """Give a case that is there its first verdict, which is in no figure: it was asked before the history began."""
        self.counts[index] = counts
        if counts is not None:
            self._verdict(index, counts, day - timedelta(days=1))

    def _ask_affected(self, change: MergedChange, day: date) -> None:
        is_caught = False
        broken = change.broken
        for index in change.affected:
            self.cases += 1
            counts = self.counts.get(index)
            if counts is None:
                self.trials += 1  # What it would have said is not on record.
                continue
            passed_before = index in self.rows and not self.rows[index].failing
            last_pass = self.last_pass.get(index)
            is_failing, trials = self._verdict(index, counts, day)
            self.trials += trials
            if passed_before and is_failing:
                is_caught |= index in broken
                self.false_alarms += last_pass is not None and counts.rate >= last_pass.rate
        self.bad += bool(broken)
        self.caught += is_caught

    def _verdict(self, index: int, counts: Counts, day: date) -> tuple[bool, int]:
        """Ask a case and move its row; return whether it fails, and how many trials that took."""
        case_id = str(index)
        before = self.rows.get(index)
        trial, trials = verdict(case_id, before, self.rule, lambda: self.noise.random() < counts.rate)
        after = review(before, trial._replace(reason=AFFECTED), day)
        if after is not None:
            self.rows[index] = after
        is_failing = is_fail(trial)
        if not is_failing:
            self.last_pass[index] = counts
        return is_failing, trials
