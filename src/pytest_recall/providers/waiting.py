"""Waiting: the clock, the sleep and the chance of everybody who waits, and the end of all waits."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from threading import Event

from pytest_recall.core.model import ModelError


class Waiting:
    """How the threads of a run wait. `stop` ends the waits of all of them, now and later.

    `clock` counts seconds from anywhere, `wall` from 1970; `sleep` takes seconds, and by
    default ends early with `stop`; `roll` gives numbers in 0..1.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], object] | None = None,
        roll: Callable[[], float] = random.random,
    ) -> None:
        self.clock = clock
        self.wall = wall
        self.roll = roll
        self._over = Event()
        # An Event lets Ctrl-C through while it is waited for in the main thread.
        self._sleep = sleep or self._over.wait

    @property
    def stopped(self) -> bool:
        """Whether everybody was told to stop."""
        return self._over.is_set()

    def stop(self) -> None:
        """End every wait, so that a run that is given up ends at once."""
        self._over.set()

    def sleep(self, seconds: float) -> None:
        """Wait. Raises ModelError if everybody was told to stop."""
        if not self.stopped:
            self._sleep(seconds)
        self.check()

    def check(self) -> None:
        """Raise ModelError if everybody was told to stop."""
        if self.stopped:
            raise ModelError("the run was given up before a reply came; start it again")
