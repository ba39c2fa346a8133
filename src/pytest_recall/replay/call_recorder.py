"""Follow one live call, tell its listeners, and hold a call that waits for a batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pytest_recall.files import clock
from pytest_recall.files.event_loop import running_asyncio
from pytest_recall.replay.budget import BudgetHold, Meter
from pytest_recall.replay.exchange import CANCELLED, Call, Exchange, Failure, Headers, Request, Response
from pytest_recall.replay.tape import TEARDOWN, Tape
from pytest_recall.replay.wire_formats import usage_of

if TYPE_CHECKING:
    from concurrent.futures import Future

# The last event of a stream, after which an SDK closes without reading on.
_LAST_EVENTS = (b"data: [DONE]", b"event: message_stop", b"event: response.completed")


class CallRecorder:
    """Listens to one live call, and hands it to the tape when it ends.

    `reading` is whether someone waits for the next piece of the body right now; `batched` whether
    the call goes through a batch API.
    """

    def __init__(
        self,
        tape: Tape,
        request: Request,
        kind: str,
        record: bool,
        meter: Meter | None = None,
        *,
        hold: BudgetHold | None = None,
    ) -> None:
        self.turn: CallTurn | None = None
        self.hold = hold
        self._meter = meter
        self._tape = tape
        self._request = request
        self._kind = kind
        self.record = record
        self.batched = False
        self._phase = TEARDOWN if tape.teardown else ""
        self._seq = tape.reserve(self._left, request.url if record else "")
        self.begins()
        self._response: Response | None = None
        self._chunks: list[bytes] = []
        self._offsets: list[float] = []
        self.reading = False

    @property
    def has_room(self) -> bool:
        """Whether the budget has room for the call, if there is one."""
        return self.hold is None or self.hold.is_taken

    def begins(self) -> None:
        """The call is made now; what went before was waiting."""
        self._at = clock.now().isoformat(timespec="seconds")
        self._begin = clock.perf_counter()

    def started(self, status: int, reason: str, headers: Headers, http_version: str = "HTTP/1.1") -> None:
        """Take in the head of the response."""
        self._response = Response(status, reason, headers, http_version=http_version)

    def chunk(self, data: bytes) -> None:
        """Take in a piece of the body."""
        self._chunks.append(data)
        self._offsets.append(clock.perf_counter() - self._begin)

    def ended(self) -> None:
        """The body came to its end."""
        self._end(None, complete=True)

    def closed(self) -> None:
        """The client has closed the response, which may have been before its end."""
        tail = b"".join(self._chunks[-3:])[-4096:]
        self._end(None, complete=any(event in tail for event in _LAST_EVENTS))

    def failed(self, kind: str, message: str) -> None:
        """The call ended with the exception named `kind`. Who cancelled it is another task in each process."""
        self._end(Failure(kind, "" if kind == CANCELLED else message), complete=True)

    def _left(self) -> None:
        """The tape closes: who does not read on, and has not closed the response either, has seen enough."""
        if self._response is not None and not self.reading:
            self.closed()

    def _end(self, failure: Failure | None, *, complete: bool) -> None:
        if not self._tape.ends(self._seq):
            return
        response = self._response
        if response is not None:
            response = response._replace(chunks=tuple(self._chunks), offsets=tuple(self._offsets), complete=complete)
        exchange = Exchange(
            key="",
            seq=self._seq,
            kind=self._kind,
            request=self._request,
            response=response,
            failure=failure,
            at=self._at,
            seconds=clock.perf_counter() - self._begin,
            phase=self._phase,
            batched=self.batched,
        )
        call: Call | None
        if response is None and not (self.has_room and (self.turn is None or self.turn.begun)):
            call = Call(self._kind, "live", cost=0.0)  # Given up before it could begin: nothing was sent.
        else:
            call = None if self._meter is None else self._meter.costed(exchange, self.hold)
            if self.turn is not None and self.turn.counts_tokens:
                self.turn.settle(_used(exchange, call))
        self._tape.keep(exchange, record=self.record, call=call)
        if self._meter is not None and call is not None:
            self._meter.count(call, self.hold)


def _used(exchange: Exchange, call: Call | None) -> int | None:
    """Return how many tokens a call has used, if anybody knows."""
    if exchange.is_refused:
        return 0
    if call is not None:
        tokens = call.tokens
    else:
        tokens = None if exchange.response is None else usage_of(exchange.request, exchange.response)[1]
    counts = [count for count in tokens or () if count is not None]
    return sum(counts) if counts else None


class CallStep(NamedTuple):
    """What is to be done with a call: it is answered, held or let through."""

    served: Exchange | None = None
    """The answer to return."""
    recorder: CallRecorder | None = None
    """What records a call that is let through, if there is one."""
    turn: CallTurn | None = None
    """What a call that is let through has to wait for, if there is one."""
    held: HeldCall | None = None
    """Set for a call that is not let through: it waits for its batch, or for who may wait for a refusal."""
    hold: BudgetHold | None = None
    """What has to fit the budget before the call waits for its `turn`, if there is one."""
    refuse: Callable[[str], BaseException] = RuntimeError
    """Makes what is raised where the `hold` will never fit."""

    @property
    def record(self) -> bool:
        """Whether the call is going to be written down."""
        return self.recorder is not None and self.recorder.record

    def begin(self) -> None:
        """Wait until the call may be made. Raises MissError if that is not going to be."""
        waits = self.turn is not None
        if self.hold is not None and not self.hold.is_taken:
            waits = True
            self.hold.wait(self.refuse)
        if self.turn is not None:
            try:
                self.turn.wait()
            except BaseException:
                self._gives_up()
                raise
        if waits:
            self._begins()

    async def begin_async(self) -> None:
        """Do the same in a task."""
        waits = self.turn is not None
        if self.hold is not None and not self.hold.is_taken:
            waits = True
            await self.hold.wait_async(self.refuse)
        if self.turn is not None:
            try:
                await self.turn.wait_async()
            except BaseException:
                self._gives_up()
                raise
        if waits:
            self._begins()

    def _gives_up(self) -> None:
        if self.hold is not None:
            self.hold.release()

    def _begins(self) -> None:
        if self.recorder is not None:
            self.recorder.begins()


class HeldCall(Protocol):
    """A call that is answered later, and not over the network by its client."""

    def wait(self) -> Exchange:
        """Wait in this thread."""

    async def waited(self) -> Exchange:
        """Wait in this task."""


class HeldError(Exception):
    """Why a call in a batch got no answer, in words that follow its name. `called_off` is no one's fault."""

    def __init__(self, message: str, *, called_off: bool = False) -> None:
        super().__init__(message)
        self.called_off = called_off


@dataclass(frozen=True, slots=True)
class PendingBatchCall:
    """One call that waits for its batch, on the side of the caller.

    No timeout of its client ends the wait: it has sent nothing.
    """

    request: Request
    future: Future[Response]
    recorder: CallRecorder
    refuse: Callable[[str, bool], BaseException]
    """Makes what is raised where there is no answer, and is given whether the case has to answer for that."""
    begin: Callable[[], None]
    """Puts the call into a batch. One for which the budget has no room waits for that first."""
    reached: Callable[[], None]
    """Called when there is an answer and someone has it."""

    def wait(self) -> Exchange:
        """Wait in this thread."""
        if self.recorder.hold is not None and not self.recorder.has_room:
            self.recorder.hold.wait(self._not_paid)
            self.begin()
        try:
            response = self.future.result()
        except HeldError as error:
            raise self._refused(error) from None
        return self._answered(response)

    async def waited(self) -> Exchange:
        """Wait in this task, which may be cancelled. A loop that is none of asyncio's waits as its thread does."""
        if (asyncio := running_asyncio()) is None:
            return self.wait()
        try:
            if self.recorder.hold is not None and not self.recorder.has_room:
                await self.recorder.hold.wait_async(self._not_paid)
                self.begin()
            response = await asyncio.wrap_future(self.future)
        except HeldError as error:
            raise self._refused(error) from None
        except asyncio.CancelledError as error:
            self.recorder.failed(type(error).__name__, str(error))
            raise
        return self._answered(response)

    def _not_paid(self, why: str) -> BaseException:
        return self.refuse(f"{self.request.line}: not asked, since {why}", True)

    def _refused(self, error: HeldError) -> BaseException:
        return self.refuse(f"{self.request.line}: {error}", not error.called_off)

    def _answered(self, response: Response) -> Exchange:
        self.reached()
        self.recorder.started(response.status, response.reason, response.headers, response.http_version)
        for chunk in response.chunks:
            self.recorder.chunk(chunk)
        self.recorder.ended()
        return Exchange("", 0, "", self.request, response)


# What the player asks of rate limits and batches, which know models while `replay` does not.


class CallTurn(Protocol):
    """The place of one call in the queue of a rate limiter."""

    begun: bool

    @property
    def counts_tokens(self) -> bool:
        """Whether the limit is one of tokens, so that the call has to say how many it took."""

    def wait(self) -> None:
        """Return when the call may begin."""

    async def wait_async(self) -> None:
        """Return when the call may begin."""

    def settle(self, used: int | None) -> None:
        """Count the tokens that the call has used; None if that is unknown."""


class Limiter(Protocol):
    """The rate limit of one provider."""

    def turn(self, request: Request, check: Callable[[], None]) -> CallTurn:
        """Return a place in the queue; `check` raises where the run has no budget left."""


class Limits(Protocol):
    """The rate limits of all providers."""

    def of(self, url: str) -> Limiter | None:
        """Return the limit of the provider behind an address, if it has one."""


class Sender(Protocol):
    """A queue of calls that go through batch APIs, with a count of what went which way."""

    tally: Counter[str]
    problems: list[str]

    def hold(
        self,
        request: Request,
        case: object,
        tape: object,
        recorder: CallRecorder,
        refuse: Callable[[str, bool], BaseException],
    ) -> PendingBatchCall | None:
        """Let a call of this case wait for a batch; None if it has to be made directly."""

    def direct(self, reason: str) -> None:
        """Count a call that is made directly."""

    def call_off(self, case: object) -> None:
        """Stop all waits of a case."""

    def settle(self, tape: object, *, again: bool) -> None:
        """Say that a tape is closed; `again` if its calls will be asked for once more."""

    def waiting(self) -> tuple[int, int]:
        """Return how many calls wait, and in how many batches."""

    def close(self) -> None:
        """End the thread that sends; calls that still wait fail."""
