"""Compute how old verdicts are, what falls due when, and how long a new set takes to be asked once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_recall.cases.settings import Settings
from pytest_recall.files.wording import listed, plural
from pytest_recall.schedule.boxes import INTERVALS, UNSCHEDULED
from pytest_recall.schedule.selection import Unanswered, unanswered_after, with_changes
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Row, Trial


class WaitingCases(NamedTuple):
    """Of the cases that a run leaves out: the oldest verdict, its case, and how many are `overdue`."""

    oldest: date | None = None
    case_id: str = ""
    overdue: int = 0


class Freshness(NamedTuple):
    """How fresh the verdicts of all cases on the schedule are after a run."""

    oldest: date | None
    """The day of the oldest verdict; None without any."""
    case_id: str
    """The case with that verdict."""
    age: int | None
    """How many days ago that verdict is; None without any."""
    overdue: int
    """How many cases the calendar has asked for before the day of the run that have come to no verdict since, though
    nothing keeps them from it."""
    unanswered: Mapping[str, Unanswered]
    """The cases that came to no verdict when they were last asked."""
    partial: bool
    """Whether some chosen cases were not run, whose verdicts are not known here: then both of these are the least."""


def left_out(
    cases: Iterable[str], rows: Mapping[str, Row], unanswered: Mapping[str, Unanswered], today: date
) -> WaitingCases:
    """Return what there is to know of the `cases` that a run leaves out."""
    days: list[tuple[date, str]] = []
    overdue = 0
    for case_id in cases:
        row = rows.get(case_id)
        if row is not None:
            days.append((row.last_tested, case_id))
            overdue += _waits(row, unanswered.get(case_id), today)
    oldest, case_id = min(days, default=(None, ""))
    return WaitingCases(oldest, case_id, overdue)


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
    before = {name: Unanswered(date.fromisoformat(day), days, by) for name, day, days, by in header.unanswered}
    after = with_changes(before, unanswered_after(before, graded, today))
    days = [(date.fromisoformat(header.oldest), header.oldest_case)] if header.oldest else []
    overdue = header.overdue
    for case_id, trial in graded.items():
        if trial.reason in UNSCHEDULED:
            continue
        if trial.outcome.is_verdict and trial.counts_for_schedule and not trial.is_doubted:
            days.append((today, case_id))
        elif trial.row is not None:
            days.append((trial.row.last_tested, case_id))
            overdue += _waits(trial.row, after.get(case_id), today)
    oldest, case_id = min(days, default=(None, ""))
    age = None if oldest is None else max((today - oldest).days, 0)
    return Freshness(oldest, case_id, age, overdue, after, bool(not_run))


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Cases by box, and the rows falling due by day, from today on."""

    today: date
    boxes: dict[int, int]
    unseen: int
    overdue: int
    """How many rows fall due on a day before `today`."""
    due: dict[date, int]
    """How many rows have each day as their `next_due`."""
    failing: tuple[str, ...]
    """The cases whose last verdict was a fail."""
    orphans: tuple[str, ...]
    """The rows without a case."""
    unanswered: Mapping[str, Unanswered]
    """The cases that came to no verdict when they were last asked."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "date": self.today.isoformat(),
            "boxes": {str(box): count for box, count in self.boxes.items()},
            "unseen": self.unseen,
            "overdue": self.overdue,
            "due": {day.isoformat(): count for day, count in self.due.items()},
            "failing": list(self.failing),
            "orphans": list(self.orphans),
            "unanswered": {
                name: {
                    "last_asked": str(one.last_asked),
                    "days": one.days,
                    "next_asked": str(one.next_asked),
                    **({"waived": one.waived} if one.waived else {}),
                }
                for name, one in self.unanswered.items()
            },
        }


def forecast(
    cases: Collection[str],
    rows: Mapping[str, Row],
    today: date,
    days: int,
    unanswered: Mapping[str, Unanswered] = MappingProxyType({}),
) -> Forecast:
    """Return the forecast for `cases` over `days` days."""
    known = {case_id: row for case_id, row in rows.items() if case_id in cases}
    boxes = Counter(row.box for row in known.values())
    falling = Counter(row.next_due for row in known.values())
    calendar = [today + timedelta(days=day) for day in range(days)]
    return Forecast(
        today=today,
        boxes={box: boxes[box] for box in INTERVALS},
        unseen=sum(case_id not in rows for case_id in cases),
        overdue=sum(count for day, count in falling.items() if day < today),
        due={day: falling[day] for day in calendar},
        failing=tuple(sorted(case_id for case_id, row in known.items() if row.failing)),
        orphans=tuple(sorted(rows.keys() - set(cases))),
        unanswered={case_id: one for case_id, one in sorted(unanswered.items()) if case_id in cases},
    )


MANY = 10
"""Pull requests that a set may take to be known before another way is proposed."""


class WarmUp(NamedTuple):
    """What a set takes to be known."""

    unseen: int
    """How many of the `total` cases have no verdict."""
    total: int
    runs: int | None
    """How many runs it takes with pull requests alone; None for never."""
    nights: int | None
    """How many nights it takes with nights alone; None for never."""
    until: date | None
    """The day on which these nights are over; None for never."""


def warm_up(unseen: int, total: int, rubric: Settings, today: date) -> WarmUp | None:
    """Return what it takes until all cases are known; None where most are, or soon will be."""
    a_run = a_night = rubric.new_traffic_sample
    a_night = max(a_night, rubric.nightly_cases or 0)
    runs, nights = (math.ceil(unseen / count) if count else None for count in (a_run, a_night))
    if 2 * unseen <= total or (runs is not None and runs <= MANY):
        return None
    return WarmUp(unseen, total, runs, nights, None if nights is None else today + timedelta(days=nights))


def without_verdict(unanswered: Mapping[str, Unanswered]) -> str:
    """Return which cases came to no verdict when they were last asked, waived ones first, then those on most days."""
    cases = sorted(unanswered.items(), key=lambda item: (not item[1].waived, -item[1].days, item[0]))
    named = (f"{case_id} ({_without_verdict(one)})" for case_id, one in cases)
    return f"without a verdict when last asked ({len(unanswered)}): {listed(named, 5)}"


def _without_verdict(one: Unanswered) -> str:
    if one.waived:
        return f"waived by {one.waived}"
    again = f", again from {one.next_asked} on" if one.rests else ""
    return f"asked on {plural(one.days, 'day')}{again}"
