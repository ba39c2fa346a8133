"""Records of runs with their scorecards, for the tests of how they are shown."""

from __future__ import annotations

from typing import Any

from pytest_recall.results.scorecard import Scorecard
from pytest_recall.runs.finish import scorecard
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Outcome, Row, Trial, Verdict
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, failing, header, row, trial


def graded(case_id: str, outcome: Outcome, reason: str, known: Row | None = None, **more: Any) -> Trial:
    """Return a trial as the journal has it."""
    return trial(case_id, outcome, reason=reason, scenario="fees", dimension="facts", row=known, **more)


def run(
    trials: list[Trial], *, left: list[tuple[str, str]] | None = None, exit_code: int | None = 1, **more: Any
) -> tuple[Record, Scorecard]:
    """Return the record and the scorecard of a run."""
    picks = [*dict.fromkeys((one.case_id, one.reason) for one in trials), *(left or [])]
    record = Record(header=header(*picks, **more), trials=tuple(trials), exit_code=exit_code)
    return record, scorecard(record)


def told(note: str) -> Trial:
    """Return a failed trial with this note."""
    return graded("late-fee", FAILED, "due", row(3, 3), verdicts=(Verdict(passed=False, reason=note),))


def again(note: str) -> Trial:
    """Return the same of a case that has failed before."""
    return told(note)._replace(row=failing())


A_RUN = [
    graded("worse", FAILED, "due", row(3, 3), where="eval/cases.yaml:12"),
    graded("bad", FAILED, "box 1", failing()),
    graded("fine", PASSED, "due", row(2, 2)),
    graded("crash", ERROR, "due", row(4, 4)),
    graded("skip", SKIPPED, "new", error="not today"),
]
