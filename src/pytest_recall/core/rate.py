"""Rate: how much may be asked in a minute, as a token bucket that may go into debt.

Whoever comes takes what he needs at once and waits until the bucket is level again, so
that those who wait are served in the order in which they came, and nobody starves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

MINUTE = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a provider may be asked in a minute: `requests`, and `tokens` in and out. None is without a limit."""

    requests: float | None = None
    tokens: float | None = None

    def __post_init__(self) -> None:
        """Raise ValueError for a limit under which nothing would ever be asked."""
        if any(limit is not None and not 0 < limit < float("inf") for limit in (self.requests, self.tokens)):
            raise ValueError("a rate is a number above zero, or None for no limit")


class Bucket(NamedTuple):
    """What is left at the time `at`, in seconds; below zero it is owed."""

    level: float
    at: float


def full(per_minute: float, now: float) -> Bucket:
    """Return a full bucket: a minute's worth may come at once."""
    return Bucket(per_minute, now)


def take(bucket: Bucket, per_minute: float, amount: float, now: float) -> tuple[Bucket, float]:
    """Return the bucket after `amount` was taken, and the seconds to wait before it is used.

    A negative amount gives back what was taken and not used.
    """
    gained = max(0.0, now - bucket.at) * per_minute / MINUTE
    level = min(per_minute, min(per_minute, bucket.level + gained) - amount)
    return Bucket(level, max(now, bucket.at)), max(0.0, -level) * MINUTE / per_minute
