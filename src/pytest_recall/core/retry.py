"""Retry: whether a call that failed is made again, and after how many seconds.

Backoff is exponential with full jitter: a wait is drawn evenly from zero to a ceiling that
doubles with each failure (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
Blog, 2015), so that threads that failed together do not come back together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite

_TEMPORARY = frozenset({408, 409, 429})
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""What providers call an account without money. They answer 429 to it, and go on to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How patient one is. All times are seconds.

    `attempts` counts the first one too; `total` bounds the time from the first attempt to the
    end of the last wait; `base` is the ceiling of the first wait and `cap` of any; `longest` is
    the longest wait that a server may ask for, beyond which nobody waits.
    """

    attempts: int = 4
    total: float = 300.0
    base: float = 0.5
    cap: float = 20.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        """Raise ValueError for what is no patience at all."""
        times = (self.total, self.base, self.cap, self.longest)
        if self.attempts < 1 or not all(isfinite(time) and time >= 0 for time in times):
            raise ValueError("at least one attempt, and times that are finite and not negative")


def wait(retry: Retry, failures: int, spent: float, asked: float | None, roll: float) -> float | None:
    """Return the seconds to wait before the next attempt, or None if there is to be none.

    `failures` counts the attempts that have failed, `spent` the seconds since the first began;
    `asked` is what the server asked for, if it did; `roll` is a random number in 0..1. A wait
    that was asked for is at least that long, and at most twice.
    """
    if failures >= retry.attempts or (asked is not None and asked > retry.longest):
        return None
    # Two to a power beyond a thousand is no float any more.
    ceiling = min(retry.cap, retry.base * 2.0 ** min(failures - 1, 64))
    seconds = roll * ceiling if asked is None else asked + roll * min(ceiling, asked)
    return seconds if spent + seconds <= retry.total else None


def is_temporary(status: int, code: str | None = None) -> bool:
    """Return whether a call that was answered with this HTTP status may work later.

    `code` is the provider's own word.
    """
    return (status in _TEMPORARY or status >= 500) and code not in SPENT


def asked_for(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a response asks to be waited for; `now` is in seconds since 1970.

    `retry-after-ms` is what the SDKs know beside RFC 9110, section 10.2.3: seconds, or a date.
    """
    told = {name.lower(): value for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        seconds = _number(told.get(name, ""))
        if seconds is not None:
            return seconds * unit
    try:
        date = parsedate_to_datetime(told.get("retry-after", ""))
    except (TypeError, ValueError, OverflowError):
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None
