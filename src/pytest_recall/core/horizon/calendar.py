"""Calendar: which date a day of a persona's story is."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal, NamedTuple

DateMap = Literal["calendar", "legacy-dst"]
"""How days become dates; `legacy-dst` is how the published corpora were dated."""
DEFAULT_EPOCH = date(2024, 1, 1)
"""The first day where nobody says."""


class Calendar(NamedTuple):
    """The dates of a story; `epoch` is the date of day 1."""

    epoch: date = DEFAULT_EPOCH
    dates: DateMap = "calendar"

    def date_of(self, day: int) -> date:
        """Return the date of a day, counted from 1.

        By `legacy-dst` it is one day early while daylight saving time holds, if it does not on the
        first day: the published corpora were dated by adding local days, on US Pacific time, to
        midnight UTC, and printing what that is in UTC.
        """
        found = self.epoch + timedelta(days=day - 1)
        if self.dates == "calendar":
            return found
        # Midnight UTC is the afternoon of the day before on the Pacific coast.
        began, local = self.epoch - timedelta(days=1), found - timedelta(days=1)
        return local if _saves_daylight(local) and not _saves_daylight(began) else found

    def weekday_of(self, day: int) -> str:
        """Return the name of the weekday of a day."""
        return WEEKDAYS[self.date_of(day).weekday()]

    def is_weekend(self, day: int) -> bool:
        """Whether a day is a Saturday or a Sunday."""
        return self.date_of(day).weekday() >= 5


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _saves_daylight(day: date) -> bool:
    """Whether the afternoon of a day is on daylight saving time in the United States, by the rule since 2007."""
    begin = _sunday(date(day.year, 3, 1)) + timedelta(days=7)
    return begin <= day < _sunday(date(day.year, 11, 1))


def _sunday(day: date) -> date:
    """Return the first Sunday from `day` on."""
    return day + timedelta(days=6 - day.weekday())
