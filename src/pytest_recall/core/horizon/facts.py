"""Facts: what of a text can be checked without understanding it: values, dates, names, words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from pytest_recall.core.horizon.calendar import WEEKDAYS

_UNIT = r"(?:thousand|million|billion|percent|per\s?cent|bps|bn|[kmbx×%])(?![a-z])"
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
# A number that says what it counts: an amount of money, a share, a multiple.
_VALUE = re.compile(rf"(?<![\w.,/])([$€£]\s?)?({_NUMBER})(\s?{_UNIT})?", re.IGNORECASE)
_BARE = re.compile(rf"({_NUMBER})(?:\s?({_UNIT}))?", re.IGNORECASE)
_TIME = re.compile(r"(?<![\d:])([01]?\d|2[0-3]):([0-5]\d)(?![\d:])")
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{2})-(\d{2})(?![\d-])")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_LONG = re.compile(rf"\b({'|'.join(m[:3] for m in _MONTHS)})[a-z]*\.? (\d{{1,2}})(?!\d)")
_UNITS = {
    "thousand": "k",
    "million": "m",
    "billion": "b",
    "bn": "b",
    "percent": "%",
    "per cent": "%",
    "×": "x",
}
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_NAME = re.compile(r"\b[A-Z][\w’'&-]*(?: (?:[A-Z][\w’'&-]*|\d+))+")
_STOP_WORDS = (
    "a about after all an and any are as at be been before being but by can could did do does for from had has have"
    " he her his how if in into is it its more most no not of on one only or other our out over said she should so"
    " some such than that the their them then there these they this those to up was we were what when where which"
    " while who whom whose why will with would you your during between using used late early"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
_NO_NAMES = frozenset((*(word.capitalize() for word in STOP_WORDS), *_MONTHS, "Yes", "According", "Given", "Despite"))


class Value(NamedTuple):
    """A number with what it counts: `$`, `%`, `x`, or a size such as `m`; `written` is how it stands there."""

    number: str
    unit: str
    written: str


def values(text: str) -> list[Value]:
    """Return the amounts of money, shares and multiples in a text, in their order."""
    found = []
    for match in _VALUE.finditer(text):
        money, unit = match[1], _unit(match[3])
        if money or unit:
            found.append(Value(_plain(match[2]), unit, match[0].strip()))
    return found


def times(text: str) -> list[str]:
    """Return the clock times in a text, such as `6:30`, without noon."""
    return [f"{int(match[1])}:{match[2]}" for match in _TIME.finditer(text)]


def dates(text: str) -> list[date]:
    """Return the dates in a text that are written as `2026-01-31`."""
    found = []
    for match in _ISO.finditer(text):
        try:
            found.append(date(int(match[1]), int(match[2]), int(match[3])))
        except ValueError:
            continue
    return found


def words(text: str) -> list[str]:
    """Return the words of a text in lower case, without those that any text has."""
    lowered = (match.lower().removesuffix("'s").removesuffix("’s") for match in _WORD.findall(text))
    return [word for word in lowered if word not in STOP_WORDS and (len(word) > 2 or word.isdigit())]


def names(text: str) -> list[str]:
    """Return the names of several words in a text: capitals side by side, without the words a question begins with."""
    found = []
    for match in _NAME.findall(text):
        parts = match.removesuffix("’s").removesuffix("'s").split(" ")
        while parts and (parts[0] in _NO_NAMES or parts[0].startswith(WEEKDAYS)):
            del parts[0]
        if len(parts) > 1 and not any(part in _MONTHS for part in parts):
            found.append(" ".join(parts))
    return found


class Evidence:
    """Texts, looked through once for all that may be asked of them."""

    def __init__(self, texts: Iterable[str], on: Iterable[date] = ()) -> None:
        self.text = "\n\n".join(texts)
        self._numbers = {(_plain(match[1]), _unit(match[2])) for match in _BARE.finditer(self.text)}
        self._times = set(times(self.text))
        self.dates = {*dates(self.text), *on}
        self._days = {(match[1], int(match[2])) for match in _LONG.finditer(self.text)}
        self._words = frozenset(words(self.text))

    def has_value(self, value: Value) -> bool:
        """Whether a value is there, or its number without any unit, as the first one of `420 to $475M` is."""
        return (value.number, value.unit) in self._numbers or (value.number, "") in self._numbers

    def has_time(self, time: str) -> bool:
        """Whether a clock time is there."""
        return time in self._times

    def has_date(self, day: date) -> bool:
        """Whether a date is there, also as `Jan 5` or `January 5`."""
        return day in self.dates or (_MONTHS[day.month - 1][:3], day.day) in self._days

    def has_word(self, word: str) -> bool:
        """Whether a word of `words` is there."""
        return word in self._words


def missing(text: str, there: Iterable[Evidence]) -> list[str]:
    """Return the values, times and dates of `text` that are in none of the texts `there`, as they are written."""
    looked = list(there)
    absent = [value.written for value in values(text) if not any(one.has_value(value) for one in looked)]
    absent += [time for time in times(text) if not any(one.has_time(time) for one in looked)]
    absent += [day.isoformat() for day in dates(text) if not any(one.has_date(day) for one in looked)]
    return list(dict.fromkeys(absent))


@lru_cache(maxsize=4096)
def _unit(written: str | None) -> str:
    unit = (written or "").strip().lower()
    return _UNITS.get(unit, unit)


def _plain(number: str) -> str:
    plain = number.replace(",", "")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
