"""Hold back what a case has left behind, so that no case gets an answer that nobody gave.

Its call is for no recording, and what a program asks is in none. Whether a case that is open waits for that is not
known. One that does is not over until it is refused: then it has no verdict. All others come to theirs first.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_recall.files import clock, event_loop
from pytest_recall.files.errors import MissError
from pytest_recall.replay import interrupt
from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.stub_answers import refused

if TYPE_CHECKING:
    from pytest_recall.replay.open_tapes import OpenTapes
    from pytest_recall.replay.tape import Tape

_PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class LeftBehind:
    """What it is about to do."""

    message: str
    """Why that is refused; it is told already."""
    opened: OpenTapes

    def wait(self) -> BaseException:
        """Return the error when no case waits for it any more; at once in the thread that runs a case."""
        tapes, until = self.opened.opened(), clock.monotonic() + interrupt.LONG
        if self.opened.is_beside():
            while self._pending(tapes) and clock.monotonic() < until:
                time.sleep(_PAUSE)
        return self._error(tapes)

    async def waited(self) -> BaseException:
        """Do the same in a task, which may run in the thread of a case."""
        tapes, until = self.opened.opened(), clock.monotonic() + interrupt.LONG
        while self._pending(tapes) and clock.monotonic() < until:
            await event_loop.sleep(_PAUSE)
        return self._error(tapes)

    def _pending(self, tapes: list[Tape]) -> list[Tape]:
        opened = self.opened.opened()
        return [tape for tape in tapes if tape in opened and not tape.passed and not tape.misses]

    def _error(self, tapes: list[Tape]) -> BaseException:
        pending = self._pending(tapes)
        return self.opened.refuse(self.message, pending) if pending else self.opened.error_of(self.message)


@dataclass(frozen=True, slots=True)
class LeftBehindCall:
    """A call that is held back; it is answered with the refusal, or raises that in the thread that runs a case."""

    request: Request
    held: LeftBehind

    def wait(self) -> Exchange:
        """Wait in this thread."""
        return self._refused(self.held.wait())

    async def waited(self) -> Exchange:
        """Wait in this task."""
        return self._refused(await self.held.waited())

    def _refused(self, error: BaseException) -> Exchange:
        if not isinstance(error, MissError) or not self.held.opened.is_beside():
            raise error
        self.held.opened.interrupter.answered()
        return refused(self.request, str(error))
