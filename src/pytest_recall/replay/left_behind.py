"""Hold back a call of what a case has left behind, so that no case gets an answer that nobody gave.

It is for no recording, and whether a case that is open waits for it is not known. One that does is not over until it is
answered: then it has no verdict. All others come to theirs, and the call is refused afterwards.
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
class LeftBehindCall:
    """One such call. `message`, which says why it is refused, is told already."""

    request: Request
    message: str
    opened: OpenTapes

    def wait(self) -> Exchange:
        """Return the refusal when no case waits for it any more. Raises it in the thread that runs a case."""
        tapes, until = self.opened.opened(), clock.monotonic() + interrupt.LONG
        if self.opened.is_beside():
            while self._pending(tapes) and clock.monotonic() < until:
                time.sleep(_PAUSE)
        return self._refused(tapes)

    async def waited(self) -> Exchange:
        """Do the same in a task, which may run in the thread of a case."""
        tapes, until = self.opened.opened(), clock.monotonic() + interrupt.LONG
        while self._pending(tapes) and clock.monotonic() < until:
            await event_loop.sleep(_PAUSE)
        return self._refused(tapes)

    def _pending(self, tapes: list[Tape]) -> list[Tape]:
        opened = self.opened.opened()
        return [tape for tape in tapes if tape in opened and not tape.passed and not tape.misses]

    def _refused(self, tapes: list[Tape]) -> Exchange:
        pending = self._pending(tapes)
        error = self.opened.refuse(self.message, pending) if pending else self.opened.error_of(self.message)
        if not isinstance(error, MissError) or not self.opened.is_beside():
            raise error
        self.opened.interrupter.answered()
        return refused(self.request, str(error))
