"""Decide what happens to each call of this process: served, recorded, let through or refused."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, partial
from types import FrameType
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.replay.answers import refused
from pytest_recall.replay.budget import Meter
from pytest_recall.replay.call import Way
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.interrupt import end_if_still, keep_interrupting
from pytest_recall.replay.origin import LOOPBACK, is_importing, place_of
from pytest_recall.replay.tape import APART, LIVE, Mode, Tape
from pytest_recall.replay.unowned import Shared, UnownedCalls

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import Limits, Sender
    from pytest_recall.replay.interrupt import Waits
    from pytest_recall.replay.tape import Tape


class CaseContext:
    """The tapes of one case while others run beside it. While it is `over`, calls of its threads are refused.

    `wait` is told of a miss, which may come from another thread than the one that runs the case.
    """

    __slots__ = ("over", "player", "tapes", "wait")

    def __init__(self, player: Player) -> None:
        self.player = player
        self.tapes: list[Tape] = []
        self.over = False
        self.wait: Waits | None = None

    def call_off(self) -> None:
        """Refuse its calls from now on, and let none wait for a batch."""
        self.over = True
        if self.player.batches is not None:
            self.player.batches.call_off(self)


CURRENT_CASE: ContextVar[CaseContext | None] = ContextVar("recall_lane", default=None)
"""The context of the case that runs here, if others run beside it."""


DEFAULT_WAYS: Mapping[str, Way] = {"agent": "cassette", "worker": "cassette", "judge": "cassette"}


class Wait:
    """A block of code that a miss of another thread ends, run by the thread that makes this object."""

    __slots__ = ("error", "over", "thread_id")

    def __init__(self) -> None:
        self.thread_id: int | None = threading.get_ident()
        self.over = threading.Event()
        self.error: BaseException | None = None

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for its end, and return whether it has come."""
        return self.over.wait(seconds)

    def give_up(self, error: BaseException) -> None:
        """End the block by `error`, unless it ends by itself soon. Called by the thread that has missed."""
        if self.error is None and self.thread_id is not None:
            self.error = error
            keep_interrupting(self.thread_id, self.over.wait, type(error))


class Player:
    """Decides for every call of the process. Calls belong to the tape that is open where they are made.

    Hosts in `ignored` (`host` or `host:port`) are no upstream, those in `telemetry` are sent nothing in a replay;
    `error` makes what is raised for a call that is refused, and `redact` takes the secrets out of its message. What is
    `allowed` asks past the player in a replay as well; `started` and `unseen` are the names of the programs and the
    clients that do so in cases, one for each time.
    """

    def __init__(
        self,
        mode: Mode,
        ways: Mapping[Any, Way] | None = None,
        *,
        ignored: Iterable[str] = (),
        telemetry: Iterable[str] = (),
        allowed: Iterable[str] = (),
        error: Callable[[str], BaseException] = MissError,
        redact: Callable[[str], str] = str,
    ) -> None:
        self.mode = mode
        self.aside: Counter[tuple[str, str]] = Counter()
        self._home = threading.get_ident()
        self.meter: Meter | None = None
        self.limits: Limits | None = None
        self.batches: Sender | None = None
        self.shared: Shared | None = None
        self.strays: list[str] = []
        self.started: list[str] = []
        self.unseen: list[str] = []
        self._tell: Callable[[str], None] = self.strays.append
        self._is_ours: Callable[[], bool] | None = None
        self.know(ways, ignored=ignored, allowed=allowed, telemetry=telemetry, error=error, redact=redact)
        self._waits: list[Wait] = []
        self._answered: WeakSet[threading.Thread] = WeakSet()
        self._lost = ""
        self._tapes: list[Tape] = []
        self._lanes: list[CaseContext] = []
        self._phases: list[tuple[str, frozenset[int]]] = []
        self._lock = threading.Lock()

    def know(
        self,
        ways: Mapping[Any, Way] | None = None,
        *,
        ignored: Iterable[str] = (),
        telemetry: Iterable[str] = (),
        allowed: Iterable[str] = (),
        error: Callable[[str], BaseException] = MissError,
        redact: Callable[[str], str] = str,
    ) -> None:
        """Take these settings in place of those that the player was made with."""
        self.ways: dict[str, Way] = {**DEFAULT_WAYS, **(ways or {})}
        self._ignored = frozenset(host.lower() for host in ignored)
        self._telemetry = tuple(telemetry)
        self.__dict__.pop("unowned", None)
        self.allowed = frozenset(allowed)
        self._error = error
        self._redact = redact

    @cached_property
    def unowned(self) -> UnownedCalls:
        """Decides on calls that belong to no case, and counts them in `aside`."""
        return UnownedCalls(self.mode, self._home, self.aside, self._telemetry, self.shared)

    def end(self, is_ours: Callable[[], bool], tell: Callable[[str], None]) -> None:
        """From now on only calls are refused of which `is_ours()` says that the session has left them behind.

        What is refused is said through `tell`. A thread that ends by SystemExit ends without a traceback.
        """
        self._is_ours, self._tell = is_ours, tell
        self._error = lambda message: SystemExit(1)

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
        return lane if lane is not None and lane.player is self else None

    def lane(self) -> CaseContext:
        """Return the context of a case that runs beside others; only its tapes are open where `CURRENT_CASE` has it."""
        lane = CaseContext(self)
        with self._lock:
            self._lanes.append(lane)
        return lane

    def leave(self, lane: CaseContext) -> None:
        """End a lane; threads that are left in it belong to no case any more."""
        with self._lock:
            self._lanes.remove(lane)
            lane.tapes.clear()
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
        the phase in which it began: one that the agent left behind is no judge later on.
        """
        return self._kind(self._lane)

    def _kind(self, lane: CaseContext | None) -> str:
        own = _KIND.get()
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
        """Close `tape`; those below it are open again."""
        with self._lock:
            for tapes in (self._tapes, *(lane.tapes for lane in self._lanes)):
                if tape in tapes:
                    tapes.remove(tape)

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
            token = _KIND.set(kind)
            try:
                if self._lost:
                    self._end_if_still(self._lane.wait, self._lane.tapes)
                yield
            finally:
                _KIND.reset(token)
            return
        # All threads that there are: `threading.enumerate` takes ten times as long, for each case of each run.
        earlier = frozenset(sys._current_frames())
        phase = (kind, earlier - {threading.get_ident()})
        with self._lock:
            self._phases.append(phase)
        token = _KIND.set(kind)
        try:
            with self.waiting():
                yield
        finally:
            _KIND.reset(token)
            with self._lock:
                # This one and no equal: blocks may lie within each other, and the outer one goes on.
                self._phases = [other for other in self._phases if other is not phase]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """End what this thread does in this block when another one has missed a recording, whatever it waits for."""
        wait = Wait()
        self._waits.append(wait)
        try:
            if self._lost:
                self._end_if_still(wait, self._tapes)
            yield
        finally:
            wait.over.set()
            self._waits.remove(wait)

    def _end_if_still(self, wait: Waits | None, tapes: Sequence[Tape]) -> None:
        """End a case that stands still: it may be waiting for a thread that a miss has ended."""
        if wait is None or not tapes:
            return
        tape = tapes[-1]
        message = f"it waits for a thread that the miss of another case has ended ({self._lost}); run it by itself"
        end_if_still(wait, lambda: self._noted(tape, message))

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
                self._end_if_still(lane.wait, lane.tapes)
            if self._waits and not lanes:
                self._end_if_still(self._waits[-1], self._tapes)
        return True

    def check_waits(self, frame: FrameType | None = None) -> None:
        """Raise the error by which one of these blocks is to end, in the main thread that runs it at `frame`."""
        if is_importing(frame):
            return
        for wait in reversed(self._waits):
            if wait.thread_id == threading.get_ident() and wait.error is not None and not wait.over.is_set():
                raise type(wait.error)(*wait.error.args)

    def ask(self, request: Request) -> CallStep:
        """Decide on a call that is about to be made. Raises MissError where it must not be."""
        try:
            step = self._decide(request)
        except MissError as error:
            if not self.unowned.in_own_thread():
                raise
            # The case is told by itself. This thread may serve other cases after it, which would wait for it in vain.
            self._answered.add(threading.current_thread())
            return CallStep(served=refused(request, str(error)))
        if self.limits is None or step.served is not None or step.held is not None:
            return step
        limiter = self.limits.of(request.url)
        if limiter is None:
            return step
        tape = None if step.recorder is None else self.tape
        step = step._replace(turn=limiter.turn(request, partial(self._check, request, tape, self._lane)))
        if step.recorder is not None:
            step.recorder.turn = step.turn
        return step

    def _decide(self, request: Request) -> CallStep:
        if APART.get() or (self._is_ours is not None and not self._is_ours()):
            return CallStep()
        if self._ignored and self.ignores(*place_of(request.url)):
            return CallStep()
        lane = self._lane
        tapes, kind = self._opened(lane), self._kind(lane)
        tape = tapes[-1] if tapes else None
        if lane is not None:
            self._check(request, None, lane)
            if self.mode == "replay" and len(self._lanes) > bool(tapes) and self.unowned.in_own_thread():
                tape = self._likely_tape(request, tape)
        way = self._way(kind)
        if way == "forbidden":
            if (step := self.unowned.step(request, tape, in_case=self._in_case(lane))) is not None:
                return step
            raise self._refused(tape, f"{request.method} {request.url}: calls of the kind `{kind}` are forbidden")
        if tape is None:
            if self.mode == "replay" and way == "cassette":
                if (step := self.unowned.step(request, tape, in_case=self._in_case(lane))) is not None:
                    return step
                raise self._refused(
                    None,
                    f"{request.method} {request.url}: called outside of any case, and {_NOTHING_SENT}",
                )
            if self._lanes and self.mode != "off" and way == "cassette":
                if (step := self.unowned.step(request, tape, in_case=self._in_case(lane))) is not None:
                    return step
                self.refuse(
                    f"{request.method} {request.url}: was not recorded, since it is made by a thread that belongs to"
                    " none of the cases that run at once; record it without --recall-concurrency",
                )
            if self.batches is not None:
                self.batches.direct("outside of any case")
            return CallStep()
        if way == "live" or tape.mode == "off":
            return self._tapped(tape, request, kind, record=False)
        if tape.process != os.getpid():
            # What a forked process has of the tape is a copy: nothing that it does there is known here.
            if tape.mode != "replay":
                return CallStep()
            raise self._refused(
                tape,
                f"{request.method} {request.url}: called by a child process, whose calls are neither recorded nor"
                " replayed; let the process that runs the test make the call, or a thread of it",
            )
        if tape.mode in ("replay", "missing"):
            try:
                served = tape.serve(request, kind)
            except RecallError as error:
                # A damaged line ends the test as a miss does: the agent must not take it for a bad connection.
                raise self._refused(tape, str(error)) from None
            if served is not None:
                return CallStep(served=served)
        if (step := self.unowned.step(request, tape, in_case=self._in_case(lane))) is not None:
            return step
        if tape.mode == "replay":
            missed = tape.missed(tape.redactor.request(request), kind)
            raise self._refused(tape, missed + self.unowned.hint(request))
        return self._tapped(
            tape,
            request,
            kind,
            record=True,
            background=self.unowned.is_background(request, tape, in_case=self._in_case(lane)),
        )

    def _in_case(self, lane: CaseContext | None) -> bool:
        """Whether what is done here says by itself that a case or the session has to answer for it.

        A task does, whatever thread runs it; and after the session only what it has left behind is asked about.
        """
        return lane is not None or _KIND.get() is not None or self._is_ours is not None

    def _likely_tape(self, request: Request, tape: Tape | None) -> Tape | None:
        """Return which case a thread asks for: it may serve several, and knows of the one only that has started it."""
        others = (lane.tapes[-1] for lane in list(self._lanes) if lane.tapes)
        first = [] if tape is None else [tape]
        return max([*first, *others], key=lambda one: one.likeness(request), default=None)

    def _tapped(self, tape: Tape, request: Request, kind: str, *, record: bool, background: bool = False) -> CallStep:
        """Let a live call through and listen to it, if there is money for it."""
        self._check(request, tape, None)
        recorder = CallRecorder(tape, request, kind, record, self.meter, background=background)
        if self.batches is None:
            return CallStep(recorder=recorder)

        def refuse(message: str, noted: bool) -> BaseException:
            return self._refused(tape, message) if noted else self._error(message)

        return CallStep(recorder=recorder, held=self.batches.hold(request, self._lane, tape, recorder, refuse))

    def _check(self, request: Request, tape: Tape | None, lane: CaseContext | None) -> None:
        """Raise for a call that must not begin: its case was called off, or there is no money for it."""
        if lane is not None and lane.over:
            raise self._error(f"{request.method} {request.url}: not asked, since its case was called off")
        if tape is not None and self.meter is not None and (why := self.meter.closed()):
            raise self._refused(tape, f"{request.method} {request.url}: not asked, since {why}")

    def may_connect(self, host: str, port: int | None) -> bool:
        """Whether a connection may open here: for a live call, or to a host that is none of our business."""
        if self._is_ours is not None and not self._is_ours():
            return True
        return self._way(self.kind) == "live" or self.ignores(host, port)

    def _way(self, kind: str) -> Way:
        way = self.ways.get(kind, "cassette")
        return "live" if LIVE.get() and way == "cassette" else way

    def ignores(self, host: str, port: int | None) -> bool:
        """Whether a host is one of those whose calls are let through, by `ignore_hosts`."""
        names = {host.lower(), "localhost"} if host in LOOPBACK else {host.lower()}
        return any(name in self._ignored or f"{name}:{port}" in self._ignored for name in names)

    def leaves_aside(self, host: str, port: int | None) -> bool:
        """Whether a connection that would open in a replay, by a client that is not known, belongs to no case."""
        return self.unowned.takes(host, port, self.tape, in_case=self._in_case(self._lane))

    def notice_socket(self, host: str, port: int | None, line: str) -> None:
        """Tell of a connection that was made while there is a recording, and that no recorded call has made."""
        if self.unowned.is_telemetry_host(host, port):
            return
        made = f"a connection to {host}:{port} was made at {line or 'a line that is not known'}"
        message = self._redact(f"{made}, and nothing of it was recorded; {_KNOWN}")
        if message not in self.strays:
            self._tell(message)

    def refuse_socket(self, address: str) -> BaseException:
        """Return the error for a connection that would open in a replay."""
        if self._is_ours is not None:
            return self._refused(None, f"a connection to {address} would open after the session, and {_NOTHING_SENT}")
        return self.refuse(f"a connection to {address} would open, and no socket opens in a replay; {_KNOWN}")

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


_KNOWN = (
    "its client is none that is recorded (httpx, requests, urllib3, aiohttp, botocore), or name the host under"
    " `ignore_hosts`"
)
_NOTHING_SENT = "nothing is sent in a replay; end the threads that a case starts, or let a fixture make the call"
_KIND: ContextVar[str | None] = ContextVar("recall_kind", default=None)
CARRIED: tuple[ContextVar[Any], ...] = (CURRENT_CASE, _KIND, LIVE)
"""What a thread has to take along of where it was started."""
