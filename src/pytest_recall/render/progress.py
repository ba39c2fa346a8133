"""Progress as one line: what is done, what it cost, and about how long the rest takes."""

from __future__ import annotations

from pytest_recall.core.progress import Progress
from pytest_recall.render.batches import batched
from pytest_recall.render.cost import UNKNOWN, price
from pytest_recall.render.sentences import plural


def line(progress: Progress, waiting: int = 0, batches: int = 0) -> str:
    """Return how far a run is in one line; what is none or not known is left out.

    `waiting` calls wait in so many `batches`.
    """
    of = plural(progress.done, "case")
    if progress.total is not None:
        of = f"{progress.done:,} of {plural(progress.total, 'case')}"
    parts = [of]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.unjudged:
        parts.append(f"{progress.unjudged:,} without a verdict")
    spent = progress.spent
    if spent.calls and spent.known is None:
        parts.append(f"made {plural(spent.calls, 'call')}, price {UNKNOWN}")
    elif spent.calls:
        parts.append(f"spent {price(spent)}")
    if waiting:
        parts.append(f"{plural(waiting, 'call')} {'waits' if waiting == 1 else 'wait'} in {batched(batches)}")
    if progress.left is not None:
        parts.append(f"{_about(progress.left)} left")
    return f"recall: {', '.join(parts)}"


def _about(seconds: float) -> str:
    """Return so many seconds in whole minutes: an estimate has no more digits than it is worth."""
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"about {minutes} min" if minutes else "less than 1 min"
    return f"about {hours:,} h {minutes} min" if minutes else f"about {hours:,} h"
