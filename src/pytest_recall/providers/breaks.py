"""Breaks: keep all threads away from a provider that has asked to be left alone."""

from __future__ import annotations

from threading import Lock

from pytest_recall.providers.waiting import Waiting


class Break:
    """The break that one endpoint has asked for, shared by the threads that ask it."""

    def __init__(self, waiting: Waiting) -> None:
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

    def __init__(self, waiting: Waiting | None = None) -> None:
        self.waiting = waiting or Waiting()
        self._breaks: dict[tuple[str, str], Break] = {}
        self._lock = Lock()

    def of(self, kind: str, endpoint: str = "") -> Break:
        """Return the break of an endpoint; it is made once."""
        with self._lock:
            if (kind, endpoint) not in self._breaks:
                self._breaks[kind, endpoint] = Break(self.waiting)
            return self._breaks[kind, endpoint]
