"""Forecast: how the cases stand today, and what the calendar holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any

from pytest_recall.core.row import Row
from pytest_recall.core.schedule import INTERVALS
from pytest_recall.core.unanswered import Unanswered


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """Cases by box, and the rows falling due by day, from `today` on.

    `due` counts rows by their `next_due`; those of earlier days are `overdue`. `failing`
    are the cases whose last verdict was a fail, `orphans` the rows without a case, and `unanswered` the cases that came
    to no verdict when they were last asked.
    """

    today: date
    boxes: dict[int, int]
    unseen: int
    overdue: int
    due: dict[date, int]
    failing: tuple[str, ...]
    orphans: tuple[str, ...]
    unanswered: Mapping[str, Unanswered]

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
                name: {"last_asked": str(one.last_asked), "days": one.days, "next_asked": str(one.next_asked)}
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
