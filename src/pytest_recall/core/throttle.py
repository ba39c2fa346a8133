"""Throttle: how long a code host wants to be left alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from pytest_recall.core.retry import asked_for

LEAST = 60.0
"""Seconds that GitHub asks for where a secondary limit names no time
(docs.github.com, "Rate limits for the REST API")."""
_LIMITED = ("rate limit", "abuse detection", "retry later")


def pause(status: int, headers: Mapping[str, str], message: str, now: float) -> float | None:
    """Return the seconds that a reply asks to wait before the next request, or None if it is about no limit.

    `now` is in seconds since 1970. GitHub answers 429 or 403, with `retry-after`, or with
    `x-ratelimit-remaining: 0` and the time of the reset, or with neither at secondary limits; GitLab 429.
    """
    if status not in (403, 429):
        return None
    told = {name.lower(): value for name, value in headers.items()}
    asked = asked_for(told, now)
    if asked is not None:
        return asked
    for prefix in ("x-ratelimit", "ratelimit"):
        if told.get(f"{prefix}-remaining", "").strip() == "0" and "not accessible" not in message:
            return _until(told.get(f"{prefix}-reset", ""), now)
    limited = status == 429 or any(word in message.lower() for word in _LIMITED)
    return LEAST if limited else None


def _until(reset: str, now: float) -> float:
    try:
        at = float(reset)
    except ValueError:
        return LEAST
    return max(0.0, at - now) if isfinite(at) else LEAST
