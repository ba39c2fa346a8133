"""Say at which rate something goes, and how long the rest of it takes at that rate."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recall.files import clock

FEW = 3
"""So many have to be done before their rate says anything of the others."""
BRIEF = 10.0
"""Seconds in which no one wants to know when it ends."""


EVERY = 10.0
"""Seconds between two lines that say how far a run is."""


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


class ProgressLines:
    """Says how far a run is, of which `left` of `total` are to come, at most every ten seconds."""

    def __init__(
        self,
        what: str,
        total: int,
        left: int,
        tell: Callable[[str], None],
        now: Callable[[], float] = clock.monotonic,
    ) -> None:
        self._what, self._total, self._begin, self._done = what, total, total - left, total - left
        self._tell, self._now, self._told, self._pace = tell, now, now(), Pace(now)

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        if self._now() - self._told >= EVERY:
            self._told = self._now()
            pace = self._pace.text(self._done - self._begin, self._total - self._done)
            self._tell(f"{self._done:,} of {self._total:,} {self._what}{pace}")


def about(seconds: float) -> str:
    """Return so many seconds in whole minutes: an estimate has no more digits than it is worth."""
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"about {minutes} min" if minutes else "less than 1 min"
    return f"about {hours:,} h {minutes} min" if minutes else f"about {hours:,} h"
