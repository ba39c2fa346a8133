"""Make live calls wait for their turn, so that no provider gets more than the rubric allows."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

from pytest_recall.files import clock, event_loop
from pytest_recall.models.rate import PROGRAMS, CallQueue, Rate, Target, expected_tokens, program_of
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.hosts import names_of, place_of
from pytest_recall.replay.wire_formats import provider_of

SLICE = 0.5
"""Seconds after which a waiting call looks again: what others have used may let it begin earlier."""


class RateLimiter:
    """One rate, which all threads and tasks of the process share. `clock` and `sleep` are those of the time module."""

    def __init__(
        self,
        rate: Rate,
        clock: Callable[[], float] = clock.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.sleep = sleep
        self.counts_tokens = rate.tokens is not None
        self._clock = clock
        self._line = CallQueue(rate)
        self._lock = Lock()

    def turn(self, request: Request, check: Callable[[], None]) -> RateTurn:
        """Return the turn of a call; while it waits, `check` may raise what ends the waiting."""
        return RateTurn(self, expected_tokens(request) if self.counts_tokens else 0, check)

    def within(self, step: Callable[[CallQueue, float], Any]) -> Any:
        """Return what `step` makes of the line and the time, with no other thread at it."""
        with self._lock:
            return step(self._line, self._clock())


class RateTurn:
    """The turn of one call. No lock is held during a wait, and no event loop stands still."""

    def __init__(self, limiter: RateLimiter, expected: int, check: Callable[[], None]) -> None:
        self._limiter = limiter
        self._expected = expected
        self._check = check
        self._place: Any = None
        self.begun = False

    @property
    def counts_tokens(self) -> bool:
        """Whether the call has to report what it has used."""
        return self._limiter.counts_tokens

    def wait(self) -> None:
        """Wait in this thread until the call may begin."""
        try:
            while (seconds := self._seconds()) > 0:
                self._limiter.sleep(seconds)
                self._check()
        except BaseException:
            # Also for Ctrl-C: a place that is not taken would keep all behind it waiting.
            self._leave()
            raise

    async def wait_async(self) -> None:
        """Wait in this task until the call may begin."""
        try:
            while (seconds := self._seconds()) > 0:
                await event_loop.sleep(seconds)
                self._check()
        except BaseException:
            self._leave()
            raise

    def settle(self, used: int | None) -> None:
        """Take in how many tokens the call has used; None is unknown, and leaves what was expected."""
        if self.begun and used is not None:
            self._limiter.within(lambda line, now: line.settle(self._place, used, now))

    def _seconds(self) -> float:
        if self._place is None:
            self._place = self._limiter.within(lambda line, now: line.join(self._expected, now))
        # Looking and beginning are one step under the lock: else two threads could both begin where one call may.
        rest: float = self._limiter.within(lambda line, now: line.rest(self._place, now))
        self.begun = rest <= 0
        return min(rest, SLICE)

    def _leave(self) -> None:
        if self._place is not None:
            self._limiter.within(lambda line, now: line.leave(self._place, now))


class RateLimits:
    """The limiters of a process, by whom they are for.

    `host:port` comes before `host`, and that before a provider; so does a program before the provider of its models.
    """

    def __init__(self, rates: Mapping[Target, Rate]) -> None:
        self._limiters = {target: RateLimiter(rate) for target, rate in rates.items()}
        self._process = os.getpid()

    def of(self, url: str) -> RateLimiter | None:
        """Return the limiter of calls to `url`; None if they have no limit.

        A forked process has none: what it takes would not be known here, and someone may have held a lock.
        """
        if os.getpid() != self._process:
            return None
        program = program_of(url)
        if program is not None:
            return self._first(Target(name) for name in (program, PROGRAMS[program]) if name is not None)
        host, port = place_of(url)
        names = names_of(host)
        targets = [*(Target(name, port) for name in names), *map(Target, names)]
        if (provider := provider_of(url)) is not None:
            targets.append(Target(provider))
        return self._first(targets)

    def _first(self, targets: Iterable[Target]) -> RateLimiter | None:
        return next((self._limiters[target] for target in targets if target in self._limiters), None)
