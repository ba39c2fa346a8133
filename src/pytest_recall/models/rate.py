"""Decide when a call may begin under a rate limit, and whether and when a failed one is retried.

Requests are spread evenly over the minute, since providers count by the second as well, and
tokens are held by a window that slides with the calls. Calls begin in the order in which they came, so
that none starves.

Backoff is exponential with full jitter: a wait is drawn evenly from zero to a ceiling that
doubles with each failure (M. Brooker, "Exponential Backoff And Jitter", AWS Architecture
Blog, 2015), so that threads that failed together do not come back together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import NamedTuple
from urllib.parse import urlsplit

from pytest_recall.replay.exchange import Request
from pytest_recall.replay.hosts import host_in
from pytest_recall.replay.token_estimate import reply_limit

MINUTE = 61.0
"""Seconds in which a minute's worth may begin: one more, as calls arrive later than they begin, and not evenly so."""

PROGRAMS: Mapping[str, str | None] = {"claude": "anthropic", "codex": "openai", "copilot": None, "command": None}
"""Programs that are asked as models, by the kind of their selector, and whose limits hold where they have none."""
_BYTES_A_TOKEN = 4


class Rate(NamedTuple):
    """What may be asked in a minute; None is without a limit."""

    requests: float | None = None
    tokens: float | None = None
    """In and out."""


class QueuePlace:
    """The place of one call in a line: it begins at the time `at` or later, and takes `tokens`."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: int) -> None:
        self.at = 0.0
        self.tokens = tokens


class CallQueue:
    """The calls that one rate is for, in the order in which they came. Times are seconds by a clock that only goes on.

    A call that is larger than the rate alone has a minute for itself.
    """

    def __init__(self, rate: Rate) -> None:
        self.rate = rate
        self._begun: deque[QueuePlace] = deque()
        self._waiting: list[QueuePlace] = []

    def join(self, tokens: int, now: float) -> QueuePlace:
        """Return the last place in the line, of a call that will take about `tokens`."""
        place = QueuePlace(tokens)
        self._waiting.append(place)
        self._plan(now)
        return place

    def rest(self, place: QueuePlace, now: float) -> float:
        """Return the seconds until the call may begin; if there are none, it begins now."""
        if place.at <= now:
            place.at = now
            self._waiting.remove(place)
            self._begun.append(place)
            self._plan(now)
        return place.at - now

    def leave(self, place: QueuePlace, now: float) -> None:
        """Take a call out of the line that is not going to begin."""
        if place in self._waiting:
            self._waiting.remove(place)
            self._plan(now)

    def settle(self, place: QueuePlace, tokens: int, now: float) -> None:
        """Correct what a call takes by what it has used."""
        place.tokens = tokens
        self._plan(now)

    def _plan(self, now: float) -> None:
        """Set the times of those who wait."""
        # What began a minute ago counts no more. The last one stays: the next keeps its distance from it.
        while len(self._begun) > 1 and self._begun[0].at + MINUTE <= now:
            self._begun.popleft()
        window = deque(self._begun)
        total = sum(place.tokens for place in window)
        at = self._begun[-1].at if self._begun else None
        for place in self._waiting:
            if at is None:
                at = now
            elif self.rate.requests is not None:
                at += MINUTE / self.rate.requests
            at = max(at, now)
            while window and window[0].at + MINUTE <= at:
                total -= window.popleft().tokens
            while self.rate.tokens is not None and window and total + place.tokens > self.rate.tokens:
                at = max(at, window[0].at + MINUTE)
                total -= window.popleft().tokens
            place.at = at
            window.append(place)
            total += place.tokens


class Target(NamedTuple):
    """Who is asked: a provider by the name of the price list, a program, or a host, at one of its ports or at any."""

    name: str
    port: int | None = None


def program_of(url: str) -> str | None:
    """Return which of `PROGRAMS` a call to this URL runs; None for one over the network."""
    if not url.startswith("command:"):
        return None
    name = url.removeprefix("command:///").partition("?")[0]
    return name if name in PROGRAMS else "command"


def target_of(key: str, names: Collection[str]) -> Target:
    """Return whom `key` names: one of `names`, or `host[:port]`. Raises ValueError, and LookupError for a name.

    A host without a dot has to come with its port: else a provider that was mistyped would be one.
    """
    if key in names:
        return Target(key)
    try:
        parts = urlsplit(f"//{key}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or any(char.isspace() or char in "/@*?#" for char in key) or key.endswith(":") or port == 0:
        raise ValueError(f"`{key}` is not a host; write {_right_for(key, names)}")
    if port is None and host != "localhost" and "." not in host and ":" not in host:
        raise LookupError(key)
    return Target(host, port)


def _right_for(key: str, names: Collection[str]) -> str:
    """Return what to write in place of a key that is no host: the host of a URL, at any port for `*`, or examples."""
    alone = host_in(key).rpartition("@")[2]
    try:
        if alone != key:
            target_of(alone, names)
            return f"`{alone}`"
    except (ValueError, LookupError):
        pass
    return "one like `api.example.com` or `127.0.0.1:8000`"


def expected_tokens(request: Request) -> int:
    """Return about how many tokens a call takes, counted as vendors do for their limits: the reply in full."""
    return len(request.body) // _BYTES_A_TOKEN + (reply_limit(request) or 0)


_TEMPORARY = frozenset({408, 409, 429})
SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""What providers call an account without money. They answer 429 to it, and go on to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How patient one is; all times are in seconds."""

    attempts: int = 4
    """With the first one."""
    total: float = 300.0
    """The most time from the first attempt to the end of the last wait."""
    base: float = 0.5
    """The ceiling of the first wait."""
    cap: float = 20.0
    """The ceiling of any wait."""
    longest: float = 60.0
    """The longest wait that a server may ask for, beyond which no one waits."""

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
    # Two to a power beyond a thousand is not a float any more.
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
