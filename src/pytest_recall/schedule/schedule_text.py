"""Render the status of a schedule for terminals."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_recall.files.wording import listed, plural
from pytest_recall.schedule.boxes import INTERVALS
from pytest_recall.schedule.forecast import Forecast, without_verdict

WIDTH = 40


def terminal(found: Forecast) -> Iterator[str]:
    """Yield the forecast line by line."""
    total = sum(found.boxes.values()) + found.unseen
    yield f"{plural(total, 'case')} on {found.today}"
    most = max([found.unseen, *found.boxes.values()])
    for box, count in found.boxes.items():
        yield f"  box {box}, every {INTERVALS[box]:>2} d {count:>6,}  {_bar(count, most)}".rstrip()
    yield f"  never seen        {found.unseen:>6,}  {_bar(found.unseen, most)}".rstrip()
    yield ""
    yield f"due by day, over {plural(len(found.due), 'day')}"
    most = max([found.overdue, *found.due.values()])
    yield f"  overdue          {found.overdue:>6,}  {_bar(found.overdue, most)}".rstrip()
    for day, count in found.due.items():
        yield f"  {day} {day:%a}   {count:>6,}  {_bar(count, most)}".rstrip()
    if found.failing:
        yield ""
        yield f"last verdict was a fail ({len(found.failing)}): {listed(found.failing)}"
    if found.unanswered:
        yield ""
        yield without_verdict(found.unanswered)
    if found.orphans:
        yield ""
        yield f"rows without a case in the case files ({len(found.orphans)}): {listed(found.orphans)}"


def _bar(count: int, most: int) -> str:
    return "█" * max(round(WIDTH * count / most), 1) if count else ""
