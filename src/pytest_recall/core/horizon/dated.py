"""Dated: dates in the texts of days that contradict the calendar."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from pytest_recall.core.horizon.calendar import WEEKDAYS, Calendar
from pytest_recall.core.horizon.finding import Finding
from pytest_recall.core.horizon.parts import Part

FAR = 730
"""Days from its own date beyond which a date in a day's text is looked at."""
_ENOUGH = 5
"""Days that make a rule."""
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAY = r"\b(Mon|Tues?|Wed(?:nes)?|Thu(?:rs?)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b\.?"
_NAMED = rf"({'|'.join(_MONTHS)})\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b"
_ISO = r"\b(\d{4})-(\d{2})-(\d{2})\b"
_PAIRS = (
    re.compile(rf"{_WEEKDAY},?\s+\(?(?:{_ISO}|{_NAMED})"),
    re.compile(rf"(?:{_ISO}|{_NAMED}),?\s+\(?{_WEEKDAY}"),
)
_TODAY = re.compile(rf"\btoday\b(?:\s+is|,)?\s+\(?(?:{_WEEKDAY},?\s+)?\(?{_ISO}", re.IGNORECASE)
_DATE = re.compile(_ISO)


def date_findings(calendar: Calendar, part: Part) -> Iterator[Finding]:
    """Yield weekdays that are not those of their dates, other dates of today, and dates that are far away."""
    own = calendar.date_of(part.day)
    for pattern in _PAIRS:
        for match in pattern.finditer(part.text):
            told, found = _weekday(match.groups()), _date(match.groups())
            if found is not None and told is not None and told != WEEKDAYS[found.weekday()]:
                message = f"{_quoted(match[0])}: {found} is a {WEEKDAYS[found.weekday()]}; correct one of the two"
                yield _finding("error", "weekday", message, part, match.start())
    for match in _TODAY.finditer(part.text):
        found = _date(match.groups())
        if found is not None and found != own:
            message = f"{_quoted(match[0])}: this day is {own}; correct it{_other_map(calendar, part.day, found)}"
            yield _finding("error", "today", message, part, match.start())
    for match in _DATE.finditer(part.text):
        found = _date(match.groups())
        if found is None:
            message = f"{match[0]}: there is no such date; correct it"
            yield _finding("error", "date", message, part, match.start())
        elif abs((found - own).days) > FAR:
            message = f"{match[0]}: is {abs((found - own).days):,} days from {own}; check the year"
            yield _finding("warning", "far-date", message, part, match.start())


def _finding(severity: str, rule: str, message: str, part: Part, offset: int) -> Finding:
    return Finding(
        "error" if severity == "error" else "warning", rule, message, day=part.day, line=part.line_of(offset)
    )


def _other_map(calendar: Calendar, day: int, found: date) -> str:
    """Return a hint where the other way to count gives the date in the text."""
    other = calendar._replace(dates="legacy-dst" if calendar.dates == "calendar" else "calendar")
    return f", or take `--dates {other.dates}`" if other.date_of(day) == found else ""


def _date(groups: Sequence[str | None]) -> date | None:
    """Return the date in the groups of a match: of numbers, or with the name of a month; None if there is none."""
    numbers = [one for one in groups if one is not None and one.isdigit()]
    month = next((_MONTHS.index(one) + 1 for one in groups if one in _MONTHS), None)
    try:
        if month is not None:
            return date(int(numbers[1]), month, int(numbers[0]))
        return date(int(numbers[0]), int(numbers[1]), int(numbers[2]))
    except ValueError:
        return None


def _weekday(groups: Sequence[str | None]) -> str | None:
    for one in groups:
        if one is not None and not one.isdigit() and one not in _MONTHS:
            return next((name for name in WEEKDAYS if name.startswith(one)), None)
    return None


def _quoted(text: str) -> str:
    return f"“{' '.join(text.split())}”"


def map_findings(calendar: Calendar, texts: Mapping[int, str]) -> Iterator[Finding]:
    """Yield whether the texts are dated by the other way to count; it can be seen where the two differ.

    A day counts if the date, `YYYY-MM-DD`, and the weekday that its text names more often are of one of them.
    """
    other = calendar._replace(dates="legacy-dst" if calendar.dates == "calendar" else "calendar")
    against, decided = [], 0
    for day, text in sorted(texts.items()):
        if calendar.date_of(day) == other.date_of(day):
            continue
        dates, weekdays = (_more(text, calendar, other, day, what) for what in ("date", "weekday"))
        decided += dates == weekdays != 0
        if dates == weekdays < 0:
            against.append(day)
    if len(against) >= _ENOUGH and len(against) > decided / 2:
        message = f"{len(against)} of {decided} days name the dates of `--dates {other.dates}` from here on; take that"
        yield Finding("error", "calendar", message, day=against[0])


def _more(text: str, calendar: Calendar, other: Calendar, day: int, what: str) -> int:
    """Return 1 if a text names what the calendar says of a day more often than what the other does, -1 if less."""
    mine, its = (
        one.weekday_of(day) if what == "weekday" else one.date_of(day).isoformat() for one in (calendar, other)
    )
    return (text.count(mine) > text.count(its)) - (text.count(mine) < text.count(its))
