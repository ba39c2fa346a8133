"""Limiter: keeps all threads together below the rate of a provider, and away from one that asked for a break."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock

from pytest_recall.core.rate import Bucket, Rate, full, take
from pytest_recall.providers.waiting import Waiting


class Limiter:
    """The rate of one provider, shared by the threads that ask it."""

    def __init__(self, rate: Rate, waiting: Waiting) -> None:
        self._waiting = waiting
        self._lock = Lock()
        self._paused_until = now = waiting.clock()
        given = {"requests": rate.requests, "tokens": rate.tokens}
        self._limits = {name: limit for name, limit in given.items() if limit is not None}
        self._buckets: dict[str, Bucket] = {name: full(limit, now) for name, limit in self._limits.items()}

    def acquire(self, tokens: int) -> None:
        """Wait until a request of about `tokens` may be made. Raises ModelError if the run is given up."""
        self._waiting.check()
        ready = self._waiting.clock() + self._take(1, tokens)
        try:
            while (rest := max(ready, self._paused_until) - self._waiting.clock()) > 0:
                self._waiting.sleep(rest)
        except BaseException:
            self._take(-1, -tokens)  # It was not made, and must not hold up the others.
            raise

    def settle(self, expected: int, used: int | None) -> None:
        """Correct what `acquire` took by what the request has used; None is unknown."""
        if used is not None and used != expected:
            self._take(0, used - expected)

    def pause(self, seconds: float) -> None:
        """Keep all threads away for so long, since the provider asked for it."""
        with self._lock:
            self._paused_until = max(self._paused_until, self._waiting.clock() + seconds)

    def _take(self, requests: int, tokens: int) -> float:
        """Take from the buckets, and return the seconds until what was taken may be used."""
        amounts = {"requests": requests, "tokens": tokens}
        longest = 0.0
        with self._lock:
            now = self._waiting.clock()
            for name, limit in self._limits.items():
                self._buckets[name], seconds = take(self._buckets[name], limit, amounts[name], now)
                longest = max(longest, seconds)
        return longest


class Limits:
    """The limiters of all providers. `rates` are by kind of selector (`openai`, `claude`, …).

    Endpoints of one kind have the same rate, and a limiter each: a local server has nothing
    to do with the vendor whose words it speaks.
    """

    def __init__(self, rates: Mapping[str, Rate] | None = None, waiting: Waiting | None = None) -> None:
        self.waiting = waiting or Waiting()
        self._rates = dict(rates or {})
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._lock = Lock()

    def of(self, kind: str, endpoint: str = "") -> Limiter:
        """Return the limiter of an endpoint; it is made once."""
        with self._lock:
            if (kind, endpoint) not in self._limiters:
                self._limiters[kind, endpoint] = Limiter(self._rates.get(kind, Rate()), self.waiting)
            return self._limiters[kind, endpoint]
