"""Say at which rate something goes, and how long the rest of it takes at that rate."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.files import clock

FEW = 3
"""So many have to be done before their rate says anything of the others."""
BRIEF = 10.0
"""Seconds in which no one wants to know when it ends."""


class Pace:
    """The rate since it was made; `now` returns seconds."""

    def __init__(self, now: Callable[[], float] = clock.monotonic) -> None:
        self._now = now
        self._begin = now()

    def text(self, done: int, left: int) -> str:
        """Return in words the rate at which so many were `done`, and the time that is left; empty in the beginning."""
        seconds = self._now() - self._begin
        if done < FEW or seconds < BRIEF or not left:
            return ""
        rate = done / seconds
        each = f"{rate:,.1f} per second" if rate >= 1 else f"{60 * rate:,.1f} per minute"
        return f", {each}, {about(left / rate)} left"


def about(seconds: float) -> str:
    """Return so many seconds in whole minutes: an estimate has no more digits than it is worth."""
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"about {minutes} min" if minutes else "less than 1 min"
    return f"about {hours:,} h {minutes} min" if minutes else f"about {hours:,} h"
