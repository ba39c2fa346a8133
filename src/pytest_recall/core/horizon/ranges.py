"""Ranges: after which days the questions are asked, as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pytest_recall.core.errors import RecallError

FULL = 2**53 - 1
"""The days of a range that is as long as the corpus."""
ALIASES = {"30d": 30, "90d": 90, "6mo": 180, "1y": 365, "full": FULL}
"""The named ranges, in days, which are also the ones that nobody has to ask for."""
_UNITS = {"": 1, "d": 1, "m": 30, "mo": 30, "y": 365}
_MOST = 10_000
_LISTED = 6
"""Ranges that are written one by one where a step would say the same."""


class Range(NamedTuple):
    """A checkpoint: how it is called, and after how many days it is."""

    label: str
    days: int

    def cutoff(self, last_day: int) -> int:
        """Return the last day that is told, of a corpus that ends with `last_day`."""
        return min(self.days, last_day)


DEFAULT = tuple(Range(label, days) for label, days in ALIASES.items())


def parse_range(written: Any) -> Range:
    """Return the range that is written: a number of days, `30d`, `6mo`, `1y`, or `full`. Raises RecallError."""
    if isinstance(written, dict) and set(written) == {"label", "days"}:
        label, days = written["label"], written["days"]
        if isinstance(label, str) and label and _is_count(days):
            return Range(label, days)
    if _is_count(written):
        return Range(f"{written}d", written)
    if isinstance(written, str):
        text = written.strip()
        if text in ALIASES:
            return Range(text, ALIASES[text])
        match = re.fullmatch(r"([1-9][0-9]{0,5})(d|mo?|y)?", text)
        if match:
            days = int(match[1]) * _UNITS[match[2] or ""]
            return Range(text if match[2] else f"{days}d", days)
    raise RecallError(f"{written!r} is no range; write days like 30, 30d, 6mo or 1y, or `full`")


def parse_ranges(written: Any) -> tuple[Range, ...]:
    """Return ranges from the shortest to the longest, of a list, `{start, end, step}`, or `{series: [...]}`.

    A label that comes twice is taken once. Raises RecallError.
    """
    if isinstance(written, str):
        written = [part for part in re.split(r"[,\s]+", written) if part]
    if isinstance(written, dict) and set(written) == {"series"}:
        written = written["series"]
    if isinstance(written, dict) and set(written) == {"start", "end", "step"}:
        start, end, step = written["start"], written["end"], written["step"]
        if not (_is_count(start) and _is_count(end) and _is_count(step) and start <= end):
            raise RecallError(f"ranges: {written!r} goes nowhere; give whole numbers of days, with start up to end")
        if (end - start) // step >= _MOST:
            raise RecallError(f"ranges: are more than {_MOST:,}; take a larger step")
        found: Iterable[Range] = (Range(f"{days}d", days) for days in range(start, end + 1, step))
    elif isinstance(written, list) and written:
        found = (one for part in written for one in _one_or_more(part))
    else:
        raise RecallError(f"ranges: {written!r} are none; write a list like [30d, 90d, full], or start, end and step")
    unique: dict[str, Range] = {}
    for one in found:
        unique.setdefault(one.label, one)
    return tuple(sorted(unique.values(), key=lambda one: one.days))


def shorter(ranges: Sequence[Range], last_day: int) -> tuple[str, str]:
    """Return ranges without those that end a corpus of so many days again, as an option and as a profile have them."""
    days = [*dict.fromkeys(one.cutoff(last_day) for one in ranges)]
    names = {one.cutoff(last_day): one.label for one in reversed(ranges) if one.days < last_day}
    labels = [names.get(day, f"{day}d") for day in days]
    option, written = " ".join(labels), f"[{', '.join(labels)}]"
    steps = {after - before for before, after in pairwise(days)}
    if len(days) > _LISTED and len(steps) == 1:
        written = f"{{start: {days[0]}, end: {days[-1]}, step: {steps.pop()}}}"
    return f"--ranges {option}", f"ranges: {written}"


def _one_or_more(part: Any) -> tuple[Range, ...]:
    return parse_ranges(part) if isinstance(part, dict) and "step" in part else (parse_range(part),)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= FULL
