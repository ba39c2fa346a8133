"""Decide what happens to each call of this process: served, recorded, let through or refused."""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from pytest_recall.files.errors import AfterSessionError, MissError, RecallError
from pytest_recall.replay.budget import Meter
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.clients import CLIENTS
from pytest_recall.replay.environment import once_read
from pytest_recall.replay.exchange import Request, Way
from pytest_recall.replay.forks import Note, NoteKind
from pytest_recall.replay.hosts import (
    TELEMETRY_VARIABLES,
    is_path_of_otlp,
    is_telemetry,
    is_telemetry_host,
    is_this_machine,
    names_of,
    place_of,
    sockets_of,
    telemetry_of,
    without_query,
)
from pytest_recall.replay.left_behind import LeftBehind, LeftBehindCall
from pytest_recall.replay.open_tapes import CaseContext, OpenTapes
from pytest_recall.replay.programs import NamedPrograms
from pytest_recall.replay.repeatable_calls import RepeatableCalls, unconditional
from pytest_recall.replay.stub_answers import accepted, refused
from pytest_recall.replay.tape import APART, LIVE, CassetteMode, Tape
from pytest_recall.replay.tokens import holds_minted
from pytest_recall.replay.wire_formats import is_path_of_model

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import Limits


DEFAULT_WAYS: Mapping[str, Way] = {"agent": "cassette", "worker": "cassette", "judge": "cassette"}


class PlayerSettings(TypedDict, total=False):
    """What a rubric says to a player, as the player describes it."""

    ignored: Iterable[str]
    telemetry: Iterable[str]
    programs: Sequence[str]
    redact: Callable[[str], str]


class Player(OpenTapes):
    """Decides for every call of the process, by the tape that it belongs to and the kind of who makes it.

    Hosts in `ignored` (`host` or `host:port`) are no upstream, and those in `telemetry` are sent nothing in a replay;
    `telemetry_calls` and `ignored_calls` count those by host, in each mode, and `ignored_places` are where clients that
    are not known have connected to the former. `outside_calls` counts what a recording does not hold, as it was called
    while no case was open. Of what cases start, a replay starts the
    `programs` that the rubric names, or `any`; `unseen` are the names of the clients that ask past the player in cases,
    one for each time. One that `listens` is asked by each client that it knows, also where nothing is recorded.
    `repeatable` has the calls that a replay may make any number of times. `error` and `redact` are as in OpenTapes.
    """

    def __init__(
        self,
        mode: CassetteMode,
        ways: Mapping[Any, Way] | None = None,
        *,
        error: Callable[[str], BaseException] = MissError,
        **settings: Unpack[PlayerSettings],
    ) -> None:
        super().__init__(mode, error, settings.get("redact", str))
        self.telemetry_calls: Counter[str] = Counter()
        self.ignored_calls: Counter[str] = Counter()
        self.outside_calls: Counter[str] = Counter()
        self.ignored_places: dict[str, None] = {}
        self.meter: Meter | None = None
        self.limits: Limits | None = None
        self.repeatable: RepeatableCalls | None = None
        self.listens = False
        self.unseen: list[str] = []
        self._named_by_variables = once_read(TELEMETRY_VARIABLES, telemetry_of)
        self._is_ours: Callable[[], bool] | None = None
        self._tells_at_once = False
        self._handed: Callable[[], Iterable[object]] = tuple
        self.know(ways, error=error, **settings)

    def know(
        self,
        ways: Mapping[Any, Way] | None = None,
        *,
        error: Callable[[str], BaseException] = MissError,
        **settings: Unpack[PlayerSettings],
    ) -> None:
        """Take these settings in place of those that the player was made with."""
        self.ways: dict[str, Way] = {**DEFAULT_WAYS, **(ways or {})}
        self._ignored = frozenset(host.lower() for host in settings.get("ignored", ()))
        self._telemetry = tuple(host.lower() for host in settings.get("telemetry", ()))
        self.programs = NamedPrograms.of(settings.get("programs", ()), windows=os.name == "nt")
        self._error = error
        self._redact = settings.get("redact", str)

    def repeat(self, patterns: Iterable[str], make: Callable[[], Tape]) -> None:
        """Let a replay repeat calls to known hosts, and those of `patterns`; `make` opens the tape for them."""
        before, self.repeatable = self.repeatable, RepeatableCalls(patterns, make)
        if before is not None:
            before.hand_over(self.repeatable)

    def before_fork(self) -> None:
        """Let what happens to the open tapes be known in all processes, and here what calls there cost."""
        super().before_fork()
        if self.meter is not None:
            for tape in self._all():
                tape.learn = self.meter.learn

    def end(self, is_ours: Callable[[], bool], tell: Callable[[str], None]) -> None:
        """From now on only calls count of which `is_ours()` says that the session has left them behind.

        A replay refuses them, and none of them is recorded, which is said through `tell`.
        """
        self._is_ours = is_ours
        self.tell_by(tell)
        self._error = lambda message: AfterSessionError(1)
        self.notes.answer()
        self.hear_forked()

    def tell_by(self, tell: Callable[[str], None]) -> None:
        """Have `tell` called with what no tape answers for, in place of adding it to `strays`."""
        self._tell = tell
        self._tells_at_once = True

    def ask(self, request: Request) -> CallStep:
        """Decide on a call that is about to be made. Raises MissError where it must not be."""
        try:
            step = self._decide(request)
        except MissError as error:
            if not self.is_beside():
                raise
            # Its case is ended where that runs. This thread may serve other cases, which would wait for it in vain.
            self.interrupter.answered()
            return CallStep(served=refused(request, str(error)))
        if self.limits is None or step.served is not None or step.held is not None:
            return step
        limiter = self.limits.of(request.url)
        if limiter is None:
            return step
        tape = None if step.recorder is None else self.tape
        step = step._replace(turn=limiter.turn(request, partial(self._check, request, tape, self._context)))
        if step.recorder is not None:
            step.recorder.turn = step.turn
        return step

    def _decide(self, request: Request) -> CallStep:
        if APART.get() or self.is_past:
            return CallStep()
        host, port = place_of(request.url)
        if self._ignored and self.ignores(host, port):
            self.count_ignored(host)
            return CallStep()
        context, kind = self._context, self.kind
        if context is not None:
            self._check(request, None, context)
        if self.mode != "off" and self._is_telemetry(request.url) and not self._is_recorded(request):
            self._count_telemetry(host)
            return CallStep(served=accepted(request)) if self.mode == "replay" else CallStep()
        tapes, way = self.possible(), self._way(kind)
        if self._is_ours is not None and self.mode != "replay":
            return self._after_session(request, way)
        if way == "forbidden":
            raise self.refuse(f"{request.line}: calls of the kind `{kind}` are forbidden", tapes)
        if way == "cassette" and self.mode != "off" and _opens_websocket(request):
            return self._websocket(request, tapes)
        if way == "cassette" and self.repeatable is not None and self.repeatable.has(request):
            request = unconditional(request)
            if self.mode != "replay" and not self._is_forked(tapes):
                self.repeatable.use()
            if not tapes and (step := self._of_all(request, self.repeatable)) is not None:
                return step
            if not tapes and self.mode == "replay" and context is None:
                why = _SEVERAL_SHARED if self.repeatable.has_several(request) else _NOT_SHARED
                raise self.refuse(f"{request.line}: called outside of any case, and {why}", ())
        if not tapes:
            return self._outside(request, way)
        if len(tapes) > 1:
            return self._of_several(request, kind, way, tapes)
        return self._of_tape(request, kind, way, tapes[0])

    def _websocket(self, request: Request, tapes: Sequence[Tape]) -> CallStep:
        """Decide on a websocket that is about to open: what goes over it after the first answer is not seen here."""
        if self.mode == "replay":
            raise self.refuse(
                f"{request.line}: a websocket did not open, which is neither recorded nor replayed; let a replay do"
                " without it, or have the host ignored in rubric.yaml: `calls: {HOST: ignore}`",
                tapes,
            )
        if tapes:
            self.notice_client(_WEBSOCKET)
        return CallStep()

    def _of_all(self, request: Request, shared: RepeatableCalls) -> CallStep | None:
        """Decide on a repeatable call that is made while no case is open; None where a replay has no answer to it."""
        if self.mode != "record" and (served := shared.serve(request)) is not None:
            return CallStep(served=served)
        if self.mode == "replay":
            return None
        if self.notes.is_copy:
            self.refuse(f"{request.line}: was not recorded, since a child process made it outside of any case", ())
            return CallStep()
        shared.outside.append(request)
        return CallStep(recorder=CallRecorder(shared.use(), request, "agent", record=True))

    def _unrecorded(self, request: Request, why: str) -> CallStep:
        """Let a call of a forked process through that is not recorded, and say so."""
        url = self._redact(without_query(request.url))
        self.notes.write("unrecorded", f"a call to {url} was not recorded, {why}")
        return CallStep()

    def _outside(self, request: Request, way: Way) -> CallStep:
        """Decide on a call that is made while no case is open, or by what a case has left behind."""
        hint = "" if is_path_of_model(request.url) else _IF_TELEMETRY
        if way == "cassette" and self.mode == "replay":
            if (left := self.left_behind(f"{request.line}: was not sent", hint)) is not None:
                return CallStep(held=LeftBehindCall(request, left))
            raise self.refuse(f"{request.line}: called outside of any case, and {_NOTHING_SENT}{hint}", ())
        if way == "cassette" and self.mode != "off" and self.left_by:
            self.refuse(f"{request.line}: was not recorded, {self._over()}{hint}", ())
        elif way == "cassette" and self.mode != "off" and self._tells_at_once:
            self.refuse(f"{request.line}: was not recorded, since no case was open; {_MAKE_BEFORE}{hint}", ())
        elif way == "cassette" and self.mode != "off":
            self.outside_calls[f"{request.method} {self._redact(without_query(request.url))}"] += 1
        if self.batches is not None:
            self.batches.direct("outside of any case")
        return CallStep()

    def _after_session(self, request: Request, way: Way) -> CallStep:
        """Let a call through that is made by what a recording has left behind, and say so."""
        if way == "cassette":
            why = self._over() if self.left_by else f"since the session is over; {_MAKE_BEFORE}"
            hint = "" if is_path_of_model(request.url) else _IF_TELEMETRY
            self.refuse(f"{request.line}: was not recorded, {why}{hint}", ())
        return CallStep()

    def left_behind(self, refused: str, hint: str = "") -> LeftBehind | None:
        """Tell that something is `refused`, and hold it back, if a case has left behind what does it; else None.

        The message ends with the `hint`.
        Raises the error at once in a forked process, whose parent is told.
        """
        if not self.left_by:
            return None
        message = f"{refused}, {self._over()}{hint}"
        error = self.refuse(message, ())
        if self.notes.is_copy:
            raise error
        for tape in self.opened():
            tape.left_behind.append(self._redact(message))
        return LeftBehind(message, self)

    def _over(self) -> str:
        return f"since {self.left_by} is over, which has begun its thread or task; {_BEGUN}"

    def _of_several(self, request: Request, kind: str, way: Way, tapes: Sequence[Tape]) -> CallStep:
        """Decide on a call that is made in no context while several cases run: it is for the one that has it."""
        if way == "live" or self.mode == "off":
            if self.batches is not None:
                self.batches.direct("outside of any case")
            return CallStep()
        if self.mode != "record":
            holding = [tape for tape in tapes if tape.holds(request)]
            if len(holding) == 1:
                return self._of_tape(request, kind, way, holding[0])
        whose = "a thread that belongs to none of the cases that run at once"
        if self.mode == "replay":
            recorded = f"{len(holding) or 'none'} of them have it recorded"
            alone = "replay it without --recall-concurrency"
            raise self.refuse(f"{request.line}: is made by {whose}, and {recorded}; {alone}", tapes)
        alone = "record it without --recall-concurrency"
        self.refuse(f"{request.line}: was not recorded, since it is made by {whose}; {alone}", ())
        return CallStep()

    def _of_tape(self, request: Request, kind: str, way: Way, tape: Tape) -> CallStep:
        if tape.is_copy:
            tape.hear()
            if tape.is_over and way != "live" and tape.mode != "off":
                return self._of_copy(request, tape)
        if way == "live" or tape.mode == "off":
            return self._tapped(tape, request, kind, record=False) if tape.hears(request) else CallStep()
        if tape.mode in ("replay", "missing"):
            try:
                served = tape.serve(request, kind)
            except RecallError as error:
                # A damaged line ends the test as a miss does: the agent must not take it for a bad connection.
                raise self.refuse(str(error), [tape]) from None
            if served is None and self.repeatable is not None and self.repeatable.has(request):
                served = tape.serve_again(request) or self.repeatable.serve(request)
            if served is not None:
                return CallStep(served=served)
        if tape.mode == "replay":
            may_be = (self.is_beside() and not tape.is_copy) or tape.asks_elsewhere(request)
            may_be = may_be and not is_path_of_model(request.url)
            hint = _IF_TELEMETRY if may_be or is_path_of_otlp(request.url) else ""
            raise self.refuse(tape.missed(request, kind) + hint, [tape])
        if tape.mode == "missing" and holds_minted(request):
            raise self.refuse(f"{request.line}: {_WITH_PLACEHOLDER}", [tape])
        if not tape.fetches_token(request):
            tape.leave_base(kind)
        return self._tapped(tape, request, kind, record=True)

    def _of_copy(self, request: Request, tape: Tape) -> CallStep:
        """Decide on a call of a child process that is left of a case, or of the set-up of a fixture, which is over."""
        of_setup = "the set-up of " if "fixture" in tape.header else ""
        over = f"since {of_setup}{tape.label} is over, for which its child process was forked; {_FORKED}"
        if tape.mode == "replay":
            raise self.refuse(f"{request.line}: was not sent, {over}", ())
        self.refuse(f"{request.line}: was not recorded, {over}", ())
        return CallStep()

    def _tapped(self, tape: Tape, request: Request, kind: str, *, record: bool) -> CallStep:
        """Let a live call through and listen to it, if there is money for it."""
        self._check(request, tape, None)
        if tape.log is not None and tape.is_copy and not tape.log.in_memory:
            if not record:
                return CallStep()
            return self._unrecorded(request, f"since a forked process has made it, and this system has {_NO_MEMORY}")

        not_paid = partial(self._refuse_unpaid, request, tape)
        context = self._context
        check = partial(self._check, request, tape, context)
        hold = None if self.meter is None else self.meter.begin(request, tape.answer_tokens, check)
        if hold is not None and not hold.is_taken and (why := hold.refusal()):
            hold.release()
            raise not_paid(why)
        if hold is not None and self.batches is not None:
            hold.patience = math.inf  # A batch takes hours, and always ends.
        recorder = CallRecorder(tape, request, kind, record, self.meter, hold=hold)
        if self.batches is None:
            return CallStep(recorder=recorder, hold=hold, refuse=not_paid)

        def refuse(message: str, noted: bool) -> BaseException:
            return self.refuse(message, [tape]) if noted else self._error(message)

        case = context if context is not None and context.is_at_once else None
        held = self.batches.hold(request, case, tape, recorder, refuse)
        return CallStep(recorder=recorder, held=held, hold=hold, refuse=not_paid)

    def _check(self, request: Request, tape: Tape | None, context: CaseContext | None) -> None:
        """Raise for a call that must not begin: its case was called off, or what it costs cannot be counted."""
        if context is not None and context.over:
            raise self._error(f"{request.line}: not asked, since its case was called off")
        if tape is not None and self.meter is not None and (why := self.meter.barred()):
            raise self._refuse_unpaid(request, tape, why)

    def _refuse_unpaid(self, request: Request, tape: Tape, why: str) -> BaseException:
        """Return the error for a call for which there is no money."""
        tape.note_unpaid()
        error = self.refuse(f"{request.line}: not asked, since {why}", [tape])
        if isinstance(error, MissError):
            error.unpaid = True
        return error

    def may_connect(self, host: str, port: int | None) -> bool:
        """Whether a connection may open here: for a live call, or to a host that is none of our business."""
        return self.is_past or self.is_live or self.ignores(host, port)

    @property
    def is_past(self) -> bool:
        """Whether the session is over, and this is done by nothing that it has left behind."""
        return self._is_ours is not None and not self._is_ours()

    @property
    def is_live(self) -> bool:
        """Whether what is called here is made over the network, as that kind of call is."""
        return self._way(self.kind) == "live"

    def hand(self, ports: Callable[[], Iterable[object]]) -> None:
        """Let this process connect to those ports of this machine that are among `ports()`, asked each time."""
        self._handed = ports

    def is_handed(self, host: str, port: object) -> bool:
        """Whether a connection is to a port of this machine that this process was handed."""
        return is_this_machine(host) and any(type(one) is int and one == port for one in self._handed())

    def _way(self, kind: str) -> Way:
        way = self.ways.get(kind, "cassette")
        return "live" if LIVE.get() and way == "cassette" else way

    def ignores(self, host: str, port: int | None) -> bool:
        """Whether calls to a host are let through, since it is ignored; at any port where none is known."""
        names = names_of(host)
        if port is None and any(one.startswith(f"{name}:") for one in self._ignored for name in names):
            return True
        return any(name in self._ignored or f"{name}:{port}" in self._ignored for name in names)

    def passes_by(self, url: str) -> bool:
        """Whether calls to a URL come to no recording: what is there is ignored, or takes telemetry."""
        return self.ignores(*place_of(url)) or self._is_telemetry(url)

    def count_ignored(self, host: str) -> None:
        """Count a call to a host that is ignored."""
        self.ignored_calls[host] += 1
        self._take_ignored("ignored", host)

    def notice_ignored(self, host: str, port: int | None) -> None:
        """Take in where a client has connected that is not known, which is ignored."""
        place = f"{host}:{port}"
        self.ignored_places[place] = None
        self._take_ignored("connected", place)

    def _take_ignored(self, kind: NoteKind, text: str) -> None:
        self.note_unrecorded()
        if self.notes.is_copy:
            self.notes.write(kind, text)

    def leaves_aside(self, host: str, port: int | None, url: str = "") -> bool:
        """Whether a connection that would open in a replay, by a client that is not known, is for telemetry.

        A `url` is that of a call by HTTP, if it is known to be one.
        """
        if not (self._is_telemetry(url) if url else self._is_telemetry_host(host, port)):
            return False
        self._count_telemetry(host)
        return True

    def _is_telemetry(self, url: str) -> bool:
        """Whether what is at a URL takes telemetry. A model may be at a host that takes some as well."""
        return is_telemetry(url, (*self._named_by_variables(), *self._telemetry)) and not is_path_of_model(url)

    def _is_recorded(self, request: Request) -> bool:
        """Whether a replay has an answer to a call that would else be taken for telemetry."""
        return self.mode == "replay" and any(tape.holds(request) for tape in self.possible())

    def _is_telemetry_host(self, host: str, port: int | None) -> bool:
        return is_telemetry_host(host, port, (*self._telemetry, *sockets_of(os.environ)))

    def _count_telemetry(self, host: str) -> None:
        self.telemetry_calls[host] += 1
        if self.notes.is_copy:
            self.notes.write("telemetry", host)

    def notice_client(self, client: str) -> None:
        """Tell of a client that asks past the player in a case, by its name."""
        self.unseen.append(client)
        self.note_unrecorded()
        if self.notes.is_copy:
            self.notes.write("unseen", client)

    def _hear(self, note: Note) -> None:
        if note.kind == "telemetry":
            self.telemetry_calls[note.text] += 1
        elif note.kind == "ignored":
            self.ignored_calls[note.text] += 1
        elif note.kind == "connected":
            self.ignored_places[note.text] = None
        elif note.kind == "unseen":
            self.unseen.append(note.text)
        else:
            super()._hear(note)
            if note.kind == "refused" and self.mode == "replay":
                self._hold_forked(note)

    def _hold_forked(self, note: Note) -> None:
        """Answer a process that was refused a call for no case that is open, when none of these waits for it."""
        for tape in self.opened():
            tape.left_behind.append(note.text)
        left = LeftBehind(note.text, self)

        def answer() -> None:
            left.wait()
            self.notes.answer(note.key)

        threading.Thread(target=answer, name="recall-left", daemon=True).start()

    def notice_socket(self, host: str, port: int | None, line: str) -> None:
        """Tell of a connection that was made while there is a recording, and that no recorded call has made."""
        if self._is_telemetry_host(host, port):
            return
        self.note_unrecorded()
        made = f"a connection to {host}:{port} was made at {line or 'a line that is not known'}"
        message = self._redact(f"{made}, and nothing of it was recorded; {UNKNOWN_CLIENT}")
        if message in self.strays:
            return
        self._tell(message)
        if self.notes.is_copy:
            self.notes.write("stray", message)

    def refuse_socket(self, address: str) -> BaseException:
        """Return the error for a connection that would open in a replay."""
        if self._is_ours is not None:
            return self.refuse(f"a connection to {address} would open after the session, and {_NOTHING_SENT}", ())
        return self.refuse(f"a connection to {address} would open, and no socket opens in a replay; {UNKNOWN_CLIENT}")


def _opens_websocket(request: Request) -> bool:
    if request.method != "GET":  # By RFC 6455, no other method opens one.
        return False
    return _WEBSOCKET in [value.lower() for name, value in request.headers if name.lower() == "upgrade"]


_WEBSOCKET = "websocket"
UNKNOWN_CLIENT = (
    f"recorded and replayed are the calls of {CLIENTS}: use one of these clients, or name the host in"
    " rubric.yaml: `calls: {HOST: ignore}`, or `telemetry` if it takes telemetry"
)
"""What to do about a connection that no recorded call has made."""
_IF_TELEMETRY = (
    "\n  if this call sends telemetry, name its host in rubric.yaml: `calls: {HOST: telemetry}`; if it asks a server"
    " that the run itself starts, `calls: {HOST: ignore}`"
)
_WITH_PLACEHOLDER = (
    "is not recorded, and was not sent, since it holds the placeholder of a token that a replay has handed out; empty"
    " the agent's cache of tokens, so that it asks for one"
)
NO_TELEMETRY = "nothing is sent in a replay, and this host takes telemetry"
"""What a client is told that would send telemetry in a replay."""
_BEGUN = "let the case wait for it, or begin it in a fixture of a wider scope if it works for several cases"
_FORKED = "let the case begin its child processes itself, and wait for them"
_NOT_SHARED = "no answer to it is recorded; record it with --record"
_SEVERAL_SHARED = (
    "several answers to it are recorded, of which none is known to be its own; let a fixture make the call"
)
_NO_MEMORY = "no files that are in memory alone (memfd_create); let the process that runs the test make the call"
_MAKE_BEFORE = "let a fixture make the call, or end the threads that a case starts"
_NOTHING_SENT = f"nothing is sent in a replay; {_MAKE_BEFORE}"
