"""Held: a call that waits for the batch it is in, and is then answered as if it had been made directly."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_recall.core.exchange import Exchange, Request, Response

if TYPE_CHECKING:
    from pytest_recall.replay.tap import Tap


class HeldError(Exception):
    """Why a call in a batch got no answer, in words that follow its name. `called_off` is nobody's fault."""

    def __init__(self, message: str, *, called_off: bool = False) -> None:
        super().__init__(message)
        self.called_off = called_off


@dataclass(frozen=True, slots=True)
class Held:
    """One such call, on the side of whoever waits. No timeout of its client ends the wait: it has sent nothing.

    `refuse` makes what is raised where there is no answer, and whether the case has to answer for
    that; `reached` is told when there is one and somebody has it.
    """

    request: Request
    future: Future[Response]
    tap: Tap
    refuse: Callable[[str, bool], BaseException]
    reached: Callable[[], None]

    def wait(self) -> Exchange:
        """Wait in this thread."""
        try:
            response = self.future.result()
        except HeldError as error:
            raise self._refused(error) from None
        return self._answered(response)

    async def waited(self) -> Exchange:
        """Wait in this task, which may be cancelled. A loop that is none of asyncio's waits as its thread does."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or asyncio._get_running_loop() is None:
            return self.wait()
        try:
            response = await asyncio.wrap_future(self.future)
        except HeldError as error:
            raise self._refused(error) from None
        except asyncio.CancelledError as error:
            self.tap.failed(type(error).__name__, str(error))
            raise
        return self._answered(response)

    def _refused(self, error: HeldError) -> BaseException:
        return self.refuse(f"{self.request.method} {self.request.url}: {error}", not error.called_off)

    def _answered(self, response: Response) -> Exchange:
        self.reached()
        self.tap.started(response.status, response.reason, response.headers, response.http_version)
        for chunk in response.chunks:
            self.tap.chunk(chunk)
        self.tap.ended()
        return Exchange("", 0, "", self.request, response)
