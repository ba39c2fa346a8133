"""Decide what happens to each call of this process: served, recorded, let through or refused."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.replay.budget import Meter
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Request, Way
from pytest_recall.replay.hosts import names_of, place_of
from pytest_recall.replay.open_tapes import KIND, CaseContext, OpenTapes
from pytest_recall.replay.tape import APART, LIVE, CassetteMode, Tape
from pytest_recall.replay.unowned import Shared, UnownedCalls, refused

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import Limits


DEFAULT_WAYS: Mapping[str, Way] = {"agent": "cassette", "worker": "cassette", "judge": "cassette"}


class Player(OpenTapes):
    """Decides for every call of the process, by the tape that it belongs to and the kind of who makes it.

    Hosts in `ignored` (`host` or `host:port`) are no upstream, those in `telemetry` are sent nothing in a replay. What
    is `allowed` asks past the player in a replay as well; `started` and `unseen` are the names of the programs and the
    clients that do so in cases, one for each time. One that `listens` is asked by each client that it knows, also where
    nothing is recorded. `error` and `redact` are as in OpenTapes.
    """

    def __init__(
        self,
        mode: CassetteMode,
        ways: Mapping[Any, Way] | None = None,
        *,
        ignored: Iterable[str] = (),
        telemetry: Iterable[str] = (),
        allowed: Iterable[str] = (),
        error: Callable[[str], BaseException] = MissError,
        redact: Callable[[str], str] = str,
    ) -> None:
        super().__init__(mode, error, redact)
        self.aside: Counter[tuple[str, str]] = Counter()
        self._home = threading.get_ident()
        self.meter: Meter | None = None
        self.limits: Limits | None = None
        self.shared: Shared | None = None
        self.listens = False
        self.started: list[str] = []
        self.unseen: list[str] = []
        self._is_ours: Callable[[], bool] | None = None
        self.know(ways, ignored=ignored, allowed=allowed, telemetry=telemetry, error=error, redact=redact)

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

    def ask(self, request: Request) -> CallStep:
        """Decide on a call that is about to be made. Raises MissError where it must not be."""
        try:
            step = self._decide(request)
        except MissError as error:
            if not self.unowned.in_own_thread():
                raise
            # The case is told by itself. This thread may serve other cases after it, which would wait for it in vain.
            self.answered(threading.current_thread())
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
        # What is only listened to is told apart by its context alone.
        recorded = tape is None or tape.mode != "off"
        if self.mode == "replay" and recorded and self._may_be_of_another(lane) and self.unowned.in_own_thread():
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
            return self._tapped(tape, request, kind, record=False) if tape.hears(request) else CallStep()
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
        background = self.unowned.is_background(request, tape, in_case=self._in_case(lane))
        if not background:
            tape.leave_base(kind)
        return self._tapped(tape, request, kind, record=True, background=background)

    def _in_case(self, lane: CaseContext | None) -> bool:
        """Whether what is done here says by itself that a case or the session has to answer for it.

        A task does, whatever thread runs it; and after the session only what it has left behind is asked about.
        """
        return lane is not None or KIND.get() is not None or self._is_ours is not None

    def _tapped(self, tape: Tape, request: Request, kind: str, *, record: bool, background: bool = False) -> CallStep:
        """Let a live call through and listen to it, if there is money for it."""
        self._check(request, tape, None)

        def not_paid(why: str) -> BaseException:
            return self._refused(tape, f"{request.method} {request.url}: not asked, since {why}")

        check = partial(self._check, request, tape, self._lane)
        hold = None if self.meter is None else self.meter.begin(request, tape.answer_tokens, check)
        if hold is not None and not hold.is_taken and (why := hold.refusal()):
            hold.release()
            raise not_paid(why)
        if hold is not None and self.batches is not None:
            hold.patience = math.inf  # A batch takes hours, and always ends.
        recorder = CallRecorder(tape, request, kind, record, self.meter, hold=hold, background=background)
        if self.batches is None:
            return CallStep(recorder=recorder, hold=hold, refuse=not_paid)

        def refuse(message: str, noted: bool) -> BaseException:
            return self._refused(tape, message) if noted else self._error(message)

        held = self.batches.hold(request, self._lane, tape, recorder, refuse)
        return CallStep(recorder=recorder, held=held, hold=hold, refuse=not_paid)

    def _check(self, request: Request, tape: Tape | None, lane: CaseContext | None) -> None:
        """Raise for a call that must not begin: its case was called off, or what it costs cannot be counted."""
        if lane is not None and lane.over:
            raise self._error(f"{request.method} {request.url}: not asked, since its case was called off")
        if tape is not None and self.meter is not None and (why := self.meter.barred()):
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
        """Whether calls to a host are let through, by `ignore_hosts`; at any port where none is known."""
        names = names_of(host)
        if port is None and any(one.startswith(f"{name}:") for one in self._ignored for name in names):
            return True
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


_KNOWN = (
    "its client is none that is recorded (httpx; with pytest-recall[replay] also requests, urllib3, aiohttp and"
    " botocore), or name the host under `ignore_hosts`"
)
_NOTHING_SENT = "nothing is sent in a replay; end the threads that a case starts, or let a fixture make the call"
