"""Dates: as the datasets write them. Months and halves of the day are English, whatever the locale."""

from __future__ import annotations

import re
from datetime import datetime

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_LOCOMO = re.compile(r"(\d{1,2}):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE | re.ASCII)
_LONGMEMEVAL = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?: \(\w+\))?(?: (\d\d?):(\d\d))?", re.ASCII)


def locomo_date(written: str) -> datetime | None:
    """Return the date in a text such as `1:56 pm on 8 May, 2023`, None if it is none."""
    found = _LOCOMO.fullmatch(written.strip())
    if found is None or found[5].lower() not in _MONTHS or not 1 <= int(found[1]) <= 12:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return _date(int(found[6]), _MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2]))


def longmemeval_date(written: str) -> datetime | None:
    """Return the date in a text such as `2023/05/30 (Tue) 21:56`, None if it is none."""
    found = _LONGMEMEVAL.fullmatch(written.strip())
    return None if found is None else _date(*(int(part or 0) for part in found.groups()))


def _date(year: int, month: int, day: int, hour: int, minute: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute)  # The datasets name no time zone.
    except ValueError:
        return None
