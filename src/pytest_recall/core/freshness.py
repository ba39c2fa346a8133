"""Freshness: how old the verdicts of all cases are after a run, and which cases have been waiting for one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.core.row import Row
from pytest_recall.core.schedule import UNSCHEDULED
from pytest_recall.core.trial import Trial
from pytest_recall.core.unanswered import Unanswered, unanswered_after, with_changes

if TYPE_CHECKING:
    from pytest_recall.core.record import Header


class Left(NamedTuple):
    """Of the cases that a run leaves out: the oldest verdict, its case, and how many are `overdue`."""

    oldest: date | None = None
    case_id: str = ""
    overdue: int = 0


class Freshness(NamedTuple):
    """How fresh the verdicts of all cases on the schedule are after a run.

    `oldest` is the day of the oldest verdict, of `case_id`, and `age` how many days ago that is; None without any.
    `overdue` counts the cases that the calendar has asked for before the day of the run, and that have come to no
    verdict since, though nothing keeps them from it; `unanswered` are those that came to none when they were last
    asked. With `partial` some chosen cases were not run, whose verdicts are not known here: then both are the least.
    """

    oldest: date | None
    case_id: str
    age: int | None
    overdue: int
    unanswered: Mapping[str, Unanswered]
    partial: bool


def left_out(cases: Iterable[str], rows: Mapping[str, Row], unanswered: Mapping[str, Unanswered], today: date) -> Left:
    """Return what there is to know of the `cases` that a run leaves out."""
    days: list[tuple[date, str]] = []
    overdue = 0
    for case_id in cases:
        row = rows.get(case_id)
        if row is not None:
            days.append((row.last_tested, case_id))
            overdue += _waits(row, unanswered.get(case_id), today)
    oldest, case_id = min(days, default=(None, ""))
    return Left(oldest, case_id, overdue)


def _waits(row: Row, unanswered: Unanswered | None, today: date) -> bool:
    return row.next_due < today and not (unanswered and unanswered.rests)


def freshness(header: Header, graded: Mapping[str, Trial], not_run: int) -> Freshness | None:
    """Return how fresh all verdicts are after a run, from the trials that grade cases.

    `not_run` is how many chosen cases were not run. None for a run of a version that did not say, and for one of cases
    that were chosen by hand, which knows of no others.
    """
    if header.overdue is None or not header.scheduled:
        return None
    today = date.fromisoformat(header.date)
    before = {case_id: Unanswered(date.fromisoformat(day), days) for case_id, day, days in header.unanswered}
    after = with_changes(before, unanswered_after(before, graded, today))
    days = [(date.fromisoformat(header.oldest), header.oldest_case)] if header.oldest else []
    overdue = header.overdue
    for case_id, trial in graded.items():
        if trial.reason in UNSCHEDULED:
            continue
        if trial.outcome.is_verdict and trial.evidence:
            days.append((today, case_id))
        elif trial.row is not None:
            days.append((trial.row.last_tested, case_id))
            overdue += _waits(trial.row, after.get(case_id), today)
    oldest, case_id = min(days, default=(None, ""))
    age = None if oldest is None else max((today - oldest).days, 0)
    return Freshness(oldest, case_id, age, overdue, after, bool(not_run))
