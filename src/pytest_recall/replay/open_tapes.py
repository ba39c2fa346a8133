"""Keep the open tapes, find the tape of a call, and fail the test of a refused call."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.interrupt import end_if_still, keep_interrupting
from pytest_recall.replay.origin import is_importing
from pytest_recall.replay.tape import LIVE, CassetteMode, Tape

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import Sender
    from pytest_recall.replay.interrupt import Waits


class CaseContext:
    """The tapes of one case while others run beside it. While it is `over`, calls of its threads are refused.

    `wait` is told of a miss, which may come from another thread than the one that runs the case.
    """

    __slots__ = ("opened", "over", "tapes", "wait", "watched")

    def __init__(self, opened: OpenTapes) -> None:
        self.opened = opened
        self.tapes: list[Tape] = []
        self.over = False
        self.wait: Waits | None = None
        self.watched = False

    def call_off(self) -> None:
        """Refuse its calls from now on, and let none wait for a batch."""
        self.over = True
        if self.opened.batches is not None:
            self.opened.batches.call_off(self)


class Wait:
    """A block of code that a miss of another thread ends, run by the thread that makes this object."""

    __slots__ = ("_running", "error", "over", "thread_id")

    def __init__(self) -> None:
        self.thread_id: int | None = threading.get_ident()
        self.over = False
        self.error: BaseException | None = None
        # Held while the block runs. An event takes ten times as long to make, and each case of each run has three.
        self._running = threading.Lock()
        self._running.acquire()

    def end(self) -> None:
        """Say that the block has ended. Called once."""
        self.over = True
        self._running.release()

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for its end, and return whether it has come."""
        if self._running.acquire(timeout=seconds):
            self._running.release()
        return self.over

    def give_up(self, error: BaseException) -> None:
        """End the block by `error`, unless it ends by itself soon. Called by the thread that has missed."""
        if self.error is None and self.thread_id is not None:
            self.error = error
            keep_interrupting(self.thread_id, self.is_over, type(error))


CURRENT_CASE: ContextVar[CaseContext | None] = ContextVar("recall_lane", default=None)
"""The context of the case that runs here, if others run beside it."""


class OpenTapes:
    """The tapes that are open, also for each of several cases at once. Calls belong to the one opened last.

    `error` makes what is raised for a call that is refused, and `redact` takes the secrets out of its message. What no
    tape answers for is in `strays`.
    """

    def __init__(self, mode: CassetteMode, error: Callable[[str], BaseException], redact: Callable[[str], str]) -> None:
        self.mode = mode
        self.batches: Sender | None = None
        self.strays: list[str] = []
        self._tell: Callable[[str], None] = self.strays.append
        self._error = error
        self._redact = redact
        self._waits: list[Wait] = []
        self._answered: WeakSet[threading.Thread] = WeakSet()
        self._lost = self._missing = ""
        self._tapes: list[Tape] = []
        self._lanes: list[CaseContext] = []
        self._phases: list[tuple[str, frozenset[int]]] = []
        self._lock = threading.Lock()

    @property
    def tape(self) -> Tape | None:
        """The tape that calls made now belong to: the one opened last, of the lane or else in whichever thread."""
        tapes = self._opened(self._lane)
        return tapes[-1] if tapes else None

    def _opened(self, lane: CaseContext | None) -> list[Tape]:
        return self._tapes if lane is None else lane.tapes

    @property
    def _lane(self) -> CaseContext | None:
        """The lane that this is in; one of another player, of a session around this one, is none."""
        lane = CURRENT_CASE.get()
        return lane if lane is not None and lane.opened is self else None

    def lane(self) -> CaseContext:
        """Return the context of one of several cases at once; only its tapes are open where `CURRENT_CASE` has it."""
        lane = CaseContext(self)
        with self._lock:
            self._lanes.append(lane)
        return lane

    def leave(self, lane: CaseContext, late: Tape | None = None) -> None:
        """End a lane; threads that are left in it belong to no case any more, and their calls to `late`, if given."""
        with self._lock:
            self._lanes.remove(lane)
            lane.tapes[:] = [] if late is None else [late]
        if self.batches is not None:
            self.batches.call_off(lane)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Be in no lane: what is done in this block is done for all cases."""
        token = CURRENT_CASE.set(None)
        try:
            yield
        finally:
            CURRENT_CASE.reset(token)

    @property
    def kind(self) -> str:
        """Who makes calls here.

        A thread that an agent or a judge started knows nothing of contexts. It has the kind of
        the phase in which it began: one that the agent left behind is not a judge later on.
        """
        return self._kind(self._lane)

    def _kind(self, lane: CaseContext | None) -> str:
        own = KIND.get()
        if own is not None or lane is not None:
            return own or "agent"
        phases = list(self._phases)
        if not phases:
            return "agent"
        thread = threading.get_ident()
        return next((kind for kind, earlier in reversed(phases) if thread not in earlier), "agent")

    @contextmanager
    def playing(self, tape: Tape) -> Iterator[Tape]:
        """Open `tape` for the calls made in this block, and by threads that it starts."""
        self.push(tape)
        try:
            yield tape
        finally:
            self.pop(tape)

    def push(self, tape: Tape, lane: CaseContext | None = None) -> None:
        """Open `tape` above the one that is open now, here or in `lane`."""
        if tape.mode != "off":
            tape.earlier = frozenset(sys._current_frames()) - {threading.get_ident()}
        with self._lock:
            self._opened(lane or self._lane).append(tape)

    def pop(self, tape: Tape) -> None:
        """Close `tape`; those below it are open again.

        Threads that began meanwhile are of what was opened above, such as a fixture of a wider scope, which is set up
        for the case that comes first.
        """
        with self._lock:
            for tapes in (self._tapes, *(lane.tapes for lane in self._lanes)):
                if tape in tapes:
                    tapes.remove(tape)
                    if tapes and tape.mode != "off":
                        begun = frozenset(sys._current_frames()) - tape.earlier - {threading.get_ident()}
                        for below in tapes:
                            below.earlier |= begun

    def clear(self) -> list[Tape]:
        """Close all tapes that are open, and return them."""
        with self._lock:
            opened = [self._tapes, *(lane.tapes for lane in self._lanes)]
            tapes = [tape for some in opened for tape in some]
            for some in opened:
                some.clear()
        return tapes

    @contextmanager
    def asking(self, kind: str) -> Iterator[None]:
        """Calls made in this block, and by threads that it starts, are of `kind`."""
        if self._lane is not None:
            # Threads take the kind along, and those of other cases are none of this one's.
            token = KIND.set(kind)
            try:
                if self._lost:
                    self._end_if_still(self._lane.wait, self._lane.tapes, self._lost)
                elif self._missing:
                    self._watch(self._lane, self._missing)
                yield
            finally:
                KIND.reset(token)
            return
        # All threads that there are: `threading.enumerate` takes ten times as long, for each case of each run.
        earlier = frozenset(sys._current_frames())
        phase = (kind, earlier - {threading.get_ident()})
        with self._lock:
            self._phases.append(phase)
        token = KIND.set(kind)
        wait = self._begin_wait()
        try:
            yield
        finally:
            self._end_wait(wait)
            KIND.reset(token)
            with self._lock:
                # This one and no equal: blocks may lie within each other, and the outer one goes on.
                self._phases = [other for other in self._phases if other is not phase]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """End what this thread does in this block when another one has missed a recording, whatever it waits for."""
        wait = self._begin_wait()
        try:
            yield
        finally:
            self._end_wait(wait)

    def _begin_wait(self) -> Wait:
        wait = Wait()
        self._waits.append(wait)
        if self._lost:
            self._end_if_still(wait, self._tapes, self._lost)
        return wait

    def _end_wait(self, wait: Wait) -> None:
        wait.end()
        self._waits.remove(wait)

    def _end_if_still(self, wait: Waits | None, tapes: Sequence[Tape], thread: str) -> None:
        """End a case that stands still: it may be waiting for this thread, which a miss has ended or kept from it."""
        if wait is None or not tapes:
            return
        tape = tapes[-1]
        message = f"it waits for the thread `{thread}`, which has missed a recording for another case; run it by itself"
        end_if_still(wait, lambda: self._noted(tape, message))

    def answered(self, thread: threading.Thread) -> None:
        """Take in that a thread which may serve several cases has missed a recording, and was told by an answer.

        Which of the cases that run at once it has asked for is a guess: one of the others may wait for it in vain.
        """
        self._answered.add(thread)
        self._missing = thread.name  # For cases that are not asked yet: they are watched when they are.
        for lane in list(self._lanes):
            self._watch(lane, thread.name)

    def _watch(self, lane: CaseContext, thread: str) -> None:
        if not lane.watched and lane.wait is not None:
            lane.watched = True
            self._end_if_still(lane.wait, lane.tapes, thread)

    def ended(self, thread: threading.Thread | None, error: type[BaseException]) -> bool:
        """Take in that a thread has ended by an exception, and return whether a miss was the cause, which is told."""
        if issubclass(error, MissError):
            return True
        if thread is None or thread not in self._answered:
            return False
        if self.mode == "replay":
            self._lost = thread.name
            lanes = list(self._lanes)
            for lane in lanes:
                self._end_if_still(lane.wait, lane.tapes, thread.name)
            if self._waits and not lanes:
                self._end_if_still(self._waits[-1], self._tapes, thread.name)
        return True

    def check_waits(self, frame: FrameType | None = None) -> None:
        """Raise the error by which one of these blocks is to end, in the main thread that runs it at `frame`."""
        if is_importing(frame):
            return
        for wait in reversed(self._waits):
            if wait.thread_id == threading.get_ident() and wait.error is not None and not wait.over:
                raise type(wait.error)(*wait.error.args)

    def _may_be_of_another(self, lane: CaseContext | None) -> bool:
        """Whether a call that is made in `lane`, or in none, may be for another of the cases that run at once."""
        if lane is None:
            return bool(self._lanes) and not self._tapes
        return len(self._lanes) > bool(lane.tapes)

    def _likely_tape(self, request: Request, tape: Tape | None) -> Tape | None:
        """Return which case a thread asks for: it may serve several, and knows of none but the one that started it."""
        others = (lane.tapes[-1] for lane in list(self._lanes) if lane.tapes)
        first = [] if tape is None else [tape]
        return max([*first, *others], key=lambda one: one.likeness(request), default=None)

    def refuse(self, message: str) -> BaseException:
        """Return the error for what must not happen here; the test answers for it, whatever becomes of the error."""
        return self._refused(self.tape, message)

    def _refused(self, tape: Tape | None, message: str) -> BaseException:
        error = self._noted(tape, message)
        lane = next((lane for lane in list(self._lanes) if tape is not None and tape in lane.tapes), None)
        wait: Waits | None = None if lane is None else lane.wait
        if lane is None and self._lane is None and tape is not None and self._waits:
            wait = self._waits[-1]
        if wait is not None and wait.thread_id != threading.get_ident():
            wait.give_up(error)
        return error

    def _noted(self, tape: Tape | None, message: str) -> BaseException:
        message = self._redact(message)
        (self._tell if tape is None else tape.misses.append)(message)
        return self._error(message)


KIND: ContextVar[str | None] = ContextVar("recall_kind", default=None)
"""Who makes calls here, where that is said: `agent`, `judge` or `worker`."""
CARRIED: tuple[ContextVar[Any], ...] = (CURRENT_CASE, KIND, LIVE)
"""What a thread has to take along of where it was started."""
