"""Print how far a run is."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Collection, Generator, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING

import pytest

from pytest_recall.files import clock
from pytest_recall.plugin import options
from pytest_recall.plugin.stash import CASSETTES

if TYPE_CHECKING:
    from pytest_recall.trials.trial import Trial


THREAD = "recall-progress"


def begin(config: pytest.Config, trials: Sequence[Trial], expected: Collection[str]) -> Ticker | None:
    """Begin to tell how far the run is that fills `trials`; None where it is not wanted."""
    seconds = options.progress(config)
    silent = not config.pluginmanager.has_plugin("terminalreporter") or config.option.verbose < -1
    return None if silent or not seconds else Ticker(config, trials, expected, seconds)


class Ticker:
    """A thread that writes a line every so many seconds, also while one case takes its time.

    It writes where pytest writes, and leaves its reporter as it was: the next dot comes in the
    same column as without the line. While pytest reports, the line waits.
    """

    def __init__(
        self, config: pytest.Config, trials: Sequence[Trial], expected: Collection[str], seconds: float
    ) -> None:
        self._config = config
        self._trials = trials
        self._expected = frozenset(expected)
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._began = clock.monotonic()
        self._stream = _terminal()
        self._owed = 0
        self._reporting = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name=THREAD, daemon=True)
        config.pluginmanager.register(self, THREAD)
        self._thread.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logstart(self) -> Generator[None, object, object]:
        """Keep the line out of what pytest writes."""
        with self._reporting:
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> Generator[None, object, object]:
        """Keep the line out of what pytest writes, and begin where pytest thinks that it is."""
        with self._reporting:
            if self._owed and (report.when == "call" or not report.passed):
                if self._owed == self._column:
                    with suppress(OSError, ValueError):
                        self._put(" " * self._owed)
                self._owed = 0
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_logfinish(self) -> Generator[None, object, object]:
        """Keep the line out of what pytest writes."""
        with self._reporting:
            return (yield)

    def _tick(self) -> None:
        # Who reads a log may be gone: no reason to trouble the run.
        with suppress(OSError, ValueError):
            while not self._over.wait(self._seconds):
                with self._reporting:
                    self._write()

    def _write(self) -> None:
        from pytest_recall.runs.progress import line, progress

        manager = self._config.stash.get(CASSETTES, None)
        waiting = manager.player.batches.waiting() if manager and manager.player.batches else (0, 0)
        shown = line(progress(self._trials, self._expected, clock.monotonic() - self._began), *waiting)
        column = self._column
        self._put(f"{shown}\n" if column in (0, self._owed) else f"\n{shown}\n")
        self._owed = column

    @property
    def _column(self) -> int:
        """Where in its line pytest thinks that it is."""
        return self._config.get_terminal_writer().width_of_current_line

    def _put(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def stop(self) -> None:
        """End the thread. What it has begun to write is written first."""
        self._over.set()
        self._thread.join()
        self._config.pluginmanager.unregister(self)
        if self._stream is not sys.stdout:
            self._stream.close()


def _terminal() -> IO[str]:
    """Return a stream to where pytest reports, which stays so while the output of a case is captured.

    Capture puts a file of its own in the place of descriptor 1, so that what is written to
    pytest's reporter from a thread would be taken for the output of the case that runs.
    """
    try:
        copy = os.dup(sys.stdout.fileno())
    except (OSError, AttributeError):  # A stream in memory: it is captured by anyone who put it there.
        return sys.stdout
    return open(copy, "w", encoding="utf-8", errors="replace")  # noqa: PTH123
