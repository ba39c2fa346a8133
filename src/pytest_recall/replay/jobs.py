"""Jobs: calls that wait for an answer, and the batches in which they wait."""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_recall.core.batch import Door, Item
from pytest_recall.core.exchange import Response
from pytest_recall.replay.held import HeldError
from pytest_recall.store.batches import Place

CALLED_OFF = "not waited for, since the run is over, or was for its case"


@dataclass(eq=False, slots=True)
class Waiting:
    """A call that waits. `place` is where its answer is going to be, once that is known.

    One that was `adopted` was asked by an earlier run. `case` and `tape` are who asks.
    """

    item: Item
    key: str
    case: object
    tape: object
    place: Place | None = None
    adopted: bool = False
    future: Future[Response] = field(default_factory=Future)

    def answer(self, response: Response) -> None:
        """Hand over the answer, unless nobody waits any more."""
        with suppress(InvalidStateError):
            self.future.set_result(response)

    def fail(self, message: str) -> None:
        """End the wait without an answer, if it has not ended."""
        with suppress(InvalidStateError):
            self.future.set_exception(HeldError(message, called_off=message is CALLED_OFF))


@dataclass(eq=False, slots=True)
class Job:
    """A batch: first `open` to further calls, then made, then looked at until it has ended, each when it is `due`."""

    door: Door
    due: float
    begun: float
    id: str = ""
    calls: list[Waiting] = field(default_factory=list)
    requests: int = 0
    size: int = 0
    open: bool = True
    prepared: Any = None
    failures: int = 0

    @property
    def waits(self) -> list[Waiting]:
        """The calls that somebody still waits for."""
        return [call for call in self.calls if not call.future.done()]
