"""Wait for a provider: the clock, the sleep, and pauses that all threads keep."""

from __future__ import annotations

import random
from collections.abc import Callable
from threading import Event, Lock

from pytest_recall.files import clock
from pytest_recall.models.model import ModelError
from pytest_recall.replay.exchange import Request, Response


class Waiter:
    """How the threads of a run wait. `stop` ends the waits of all of them, now and later.

    `clock` counts seconds from anywhere, `wall` from 1970; `sleep` takes seconds, and by
    default ends early with `stop`; `roll` gives numbers in 0..1.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float] = clock.monotonic,
        wall: Callable[[], float] = clock.wall,
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


class Break:
    """The break that one endpoint has asked for, shared by the threads that ask it."""

    def __init__(self, waiting: Waiter) -> None:
        self._waiting = waiting
        self._lock = Lock()
        self._until = waiting.clock()

    def wait(self) -> None:
        """Wait until it is over. Raises ModelError if the run is given up."""
        self._waiting.check()
        while (rest := self._until - self._waiting.clock()) > 0:
            self._waiting.sleep(rest)

    def begin(self, seconds: float) -> None:
        """Keep all threads away for so long."""
        with self._lock:
            self._until = max(self._until, self._waiting.clock() + seconds)


class Breaks:
    """The breaks of all providers, by the kind of selector (`openai`, `claude`, …) and endpoint.

    A local server has nothing to do with the vendor whose words it speaks.
    """

    def __init__(self, waiting: Waiter | None = None) -> None:
        self.waiting = waiting or Waiter()
        self._breaks: dict[tuple[str, str], Break] = {}
        self._lock = Lock()

    def of(self, kind: str, endpoint: str = "") -> Break:
        """Return the break of an endpoint; it is made once."""
        with self._lock:
            if (kind, endpoint) not in self._breaks:
                self._breaks[kind, endpoint] = Break(self.waiting)
            return self._breaks[kind, endpoint]


Channel = Callable[[Request, Callable[[], Response]], Response]
"""Takes the request, and what makes the call, and returns the response.

The method is `RUN`, the URL `command:///` and the selector, the body the prompt. A response
has the status 200 and what was printed; or 500, with the exit code and the last line of
standard error as its reason. A call that was ended raises ModelError.
"""


def direct(request: Request, call: Callable[[], Response]) -> Response:
    """Make the call."""
    return call()
