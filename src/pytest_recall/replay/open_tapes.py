"""Keep the open tapes, find the tape of a call by its context, and fail the case of a refused call.

A case is in the context of the thread that runs it, and so in that of all tasks that are begun meanwhile; threads, and
what is handed to an executor, take it along. What is done in no context, such as by a thread of a wider fixture, is
done for the one case that is open.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, Token
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from pytest_recall.files.context_values import assigned
from pytest_recall.replay import interrupt
from pytest_recall.replay.forks import ForkNotes, Note, at_fork
from pytest_recall.replay.interrupt import IN_THREAD, Interrupter, is_in_task
from pytest_recall.replay.tape import LET_THROUGH, LIVE, CassetteMode, Tape

_HEARD = 1.0
"""Seconds within which a process hears what was refused to one that was forked from it."""

if TYPE_CHECKING:
    from pytest_recall.replay.call_recorder import Sender
    from pytest_recall.replay.interrupt import Block, Wait


class CaseContext:
    """The open tapes of one case; it has come to its end when there are none.

    While it is `over`, calls of its threads are refused.
    `label` is that of the tape that was opened first. `wait` is told of a miss, which may come from another thread than
    the one that runs the case. `thread_id` is the thread of the session that runs it, None for one of several at once,
    and `outer` the context that this one stands in there. One that `is_shared` is that of a fixture: what that begins
    works for all cases.
    """

    __slots__ = ("is_shared", "label", "opened", "outer", "over", "tapes", "thread_id", "wait")

    def __init__(
        self,
        opened: OpenTapes,
        thread_id: int | None = None,
        outer: CaseContext | None = None,
        *,
        is_shared: bool = False,
    ) -> None:
        self.opened = opened
        self.thread_id = thread_id
        self.outer = outer
        self.is_shared = is_shared
        self.label = ""
        self.tapes: list[Tape] = []
        self.over = False
        self.wait: Wait | None = None

    @property
    def is_at_once(self) -> bool:
        """Whether it is that of one of several cases at once."""
        return self.thread_id is None

    def call_off(self) -> None:
        """Refuse its calls from now on, and let none wait for a batch."""
        self.over = True
        if self.opened.batches is not None:
            self.opened.batches.call_off(self)


CURRENT_CASE: ContextVar[CaseContext | None] = ContextVar("recall_lane", default=None)
"""The case or the fixture for which something is done here; None where it is for none in particular."""


class _Asking:
    """Let calls be of a kind in a `with` block; a generator takes three times as long, and each case has two."""

    __slots__ = ("_block", "_kind", "_opened", "_token")
    _block: Block
    _token: Token[str | None]

    def __init__(self, opened: OpenTapes, kind: str) -> None:
        self._opened, self._kind = opened, kind

    def __enter__(self) -> None:
        self._token = KIND.set(self._kind)
        self._block = self._opened.begin_phase(self._kind)

    def __exit__(self, *raised: object) -> None:
        try:
            self._block.__exit__(*raised)
        finally:
            self._opened.end_phase(self._kind)
            KIND.reset(self._token)


class OpenTapes:
    """The tapes that are open, also for each of several cases at once. Calls belong to the one opened last.

    `error` makes what is raised for a call that is refused, and `redact` takes the secrets out of its message. What no
    tape answers for is in `strays`. It `has_refused` if any call was refused, here or in a forked process. `tell_alone`
    is called with what no tape answers for in a forked process that has outlived the session.
    """

    def __init__(self, mode: CassetteMode, error: Callable[[str], BaseException], redact: Callable[[str], str]) -> None:
        self.mode = mode
        self.batches: Sender | None = None
        self.strays: list[str] = []
        self.has_refused = False
        self._tell: Callable[[str], None] = self.strays.append
        self.tell_alone: Callable[[str], None] = self.strays.append
        self._error = error
        self._redact = redact
        self._home = threading.get_ident()
        self.interrupter = Interrupter(self._end_all_later, self._interrupted)
        self._contexts: list[CaseContext] = []
        self._lanes: list[CaseContext] = []
        self._phases: list[str] = []
        self._lock = threading.Lock()
        self.notes = ForkNotes()
        at_fork(self)

    @property
    def tape(self) -> Tape | None:
        """The tape that calls made now belong to; None where there is none, or nobody knows which."""
        tapes = self.possible()
        return tapes[0] if len(tapes) == 1 else None

    def possible(self) -> list[Tape]:
        """Return the tapes that a call made now may belong to: the one of its context, or else all that are open.

        None at all if its case is over.
        """
        context = self._context
        if context is not None:
            return context.tapes[-1:]
        last = self._innermost
        # Where calls are only listened to, what is made in no context is counted by itself.
        if len(self._lanes) > 1 and not (last and last[0].mode == "off"):
            return self.opened()
        return last or self.opened()

    def opened(self) -> list[Tape]:
        """Return the tapes of all cases that are open, and of a fixture that is set up for them."""
        lanes = (lane.tapes[-1] for lane in list(self._lanes) if lane.tapes)
        return [*lanes, *self._innermost]

    @property
    def _innermost(self) -> list[Tape]:
        """The tape that was opened last, of those in no lane, if there is one."""
        return [tape for context in self._contexts[-1:] for tape in context.tapes]

    @property
    def left_by(self) -> str:
        """The case that is over, if what does this was left behind by it, in words; empty if it was not."""
        context = self._context
        return "" if context is None or context.tapes else context.label

    @property
    def _context(self) -> CaseContext | None:
        """The context that this is in.

        One of another player, of a session around this one, is none, and nor is that of a fixture which is there.
        """
        context = CURRENT_CASE.get()
        if context is None or context.opened is not self or (context.is_shared and not context.tapes):
            return None
        return context

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
            left, lane.tapes[:] = lane.tapes[:], [] if late is None else [late]
        still = self._all()
        for tape in left:
            if tape not in still:
                self._forget_forks(tape)
        if self.batches is not None:
            self.batches.call_off(lane)

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Be in no lane: what is done in this block is done for all cases."""
        with assigned(CURRENT_CASE, None):
            yield

    @property
    def kind(self) -> str:
        """Who makes calls here, which threads take along; in no context, who is asked now."""
        own = KIND.get()
        if own is not None or self._context is not None:
            return own or "agent"
        return next(reversed(self._phases), "agent")

    @contextmanager
    def playing(self, tape: Tape) -> Iterator[Tape]:
        """Open `tape` for the calls made in this block, and by what it begins."""
        self.push(tape)
        try:
            yield tape
        finally:
            self.pop(tape)

    def push(self, tape: Tape, lane: CaseContext | None = None) -> None:
        """Open `tape` in a context of its own, which is that of this thread until it closes, or else in `lane`."""
        with self._lock:
            if lane is None:
                outer, is_shared = CURRENT_CASE.get(), "fixture" in tape.header
                lane = CaseContext(self, threading.get_ident(), outer, is_shared=is_shared)
                self._contexts.append(lane)
                CURRENT_CASE.set(lane)
            lane.label = lane.label or tape.label
            lane.tapes.append(tape)

    def pop(self, tape: Tape) -> None:
        """Close `tape`; those below it are open again."""
        with self._lock:
            closed = [context for context in self._contexts if tape in context.tapes]
            self._contexts = [context for context in self._contexts if context not in closed]
            for context in (*closed, *self._lanes):
                if tape in context.tapes:
                    context.tapes.remove(tape)
        self._step_out(closed)
        self._forget_forks(tape)

    def clear(self) -> list[Tape]:
        """Close all tapes that are open, and return them."""
        with self._lock:
            closed, self._contexts = self._contexts, []
            tapes = self._tapes_in(closed, self._lanes)
            for context in (*closed, *self._lanes):
                context.tapes.clear()
        self._step_out(closed)
        for tape in tapes:
            self._forget_forks(tape)
        return tapes

    def _step_out(self, closed: Sequence[CaseContext]) -> None:
        context = CURRENT_CASE.get()
        while context is not None and context in closed:
            context = context.outer
            CURRENT_CASE.set(context)

    def asking(self, kind: str) -> AbstractContextManager[None]:
        """Calls made in this block, and by threads that it starts, are of `kind`."""
        context = self._context
        if context is None or (context.tapes and context.thread_id == threading.get_ident()):
            return _Asking(self, kind)
        # Threads take the kind along, and those of other cases are none of this one's.
        if self.interrupter.lost:
            self._end_lost(context.tapes)
        return assigned(KIND, kind)

    def begin_phase(self, kind: str) -> Block:
        """Let calls in no context be of `kind` until `end_phase`, and begin a block that a miss ends."""
        with self._lock:
            self._phases.append(kind)
        return self.waiting()

    def end_phase(self, kind: str) -> None:
        """Let calls in no context be of the kind that they were before."""
        with self._lock:
            self._phases.remove(kind)

    def waiting(self) -> Block:
        """End what this thread does in this block when another one has missed a recording, whatever it waits for."""
        block = self.interrupter.block()
        if self.interrupter.lost:
            self._end_lost(self._innermost)
        return block

    def _end_lost(self, tapes: Sequence[Tape]) -> None:
        for tape in tapes[-1:]:
            self._end_later(tape, self.interrupter.lost)

    def _end_all_later(self, message: str) -> None:
        for tape in self.opened():
            self._end_later(tape, message)

    def is_beside(self) -> bool:
        """Whether this runs neither the session nor the case that answers for it, so that none hears of it.

        A task that a fixture of the session has begun may run in the thread of a case.
        """
        tapes = self.possible()
        if self._is_forked(tapes) or (tapes and self._context is None and is_in_task()):
            return True
        thread = threading.get_ident()
        waits = [wait for tape in tapes if (wait := self._wait_of(tape)) is not None]
        if waits:
            return all(wait.thread_id != thread for wait in waits)
        context = self._context  # Of a question that is asked by no item of pytest, a miss is caught where it is asked.
        return IN_THREAD.get() or (thread != self._home and not (context is not None and context.tapes))

    def _wait_of(self, tape: Tape) -> Wait | None:
        lane = next((lane for lane in list(self._lanes) if tape in lane.tapes), None)
        return self.interrupter.innermost if lane is None else lane.wait

    def _interrupted(self) -> None:
        """Take in what a forked process was refused, which interrupts its parent to be heard."""
        if self.notes.log is not None and not self.notes.is_copy:
            # Not here: this thread may be about to take in the same.
            threading.Thread(target=self.hear_forked, name="recall-forks", daemon=True).start()

    def error_of(self, message: str) -> BaseException:
        """Return the error for a call that is refused, of which those know who have to."""
        return self._error(self._redact(message))

    def _end_later(self, tape: Tape, message: str) -> None:
        wait = self._wait_of(tape)
        if wait is None:
            return

        def end() -> None:
            if not tape.misses:
                self.refuse(message, [tape])

        self.interrupter.end_later(wait, end)

    def note_unrecorded(self) -> None:
        """Let the recordings know of a call that they do not hold, and that may be one of theirs."""
        for tape in self.possible() or self.opened():
            tape.note_unrecorded()

    def refuse(self, message: str, tapes: Sequence[Tape] | None = None) -> BaseException:
        """Return the error for what must not happen here, for which all tests of `tapes`, or that may do it, answer."""
        tapes, message = self.possible() if tapes is None else tapes, self._redact(message)
        self.has_refused = True
        error = self._error(message)
        if not tapes:
            if self.mode != "replay":  # There it was not sent.
                self.note_unrecorded()
            if self.notes.is_copy:
                # In a replay a case that is open in the process which hears it may wait for this one.
                seconds = interrupt.LONG + _HEARD if self.mode == "replay" else 0
                self.notes.write_and_wait("refused", message, seconds)
                if self.notes.is_over:
                    self.tell_alone(message)
            else:
                self._tell(message)
        for tape in tapes:
            tape.miss(message)
            self._give_up(tape, error)
        if tapes and self._is_forked(tapes):
            self.notes.write_and_wait("missed", "", _HEARD)
        return error

    def _give_up(self, tape: Tape, error: BaseException) -> None:
        self.interrupter.give_up(None if tape.is_copy else self._wait_of(tape), error)

    # What forked processes do

    def before_fork(self) -> None:
        """Let what happens to the open tapes be known in all processes from now on."""
        # It may be imported late, and what a thread imports just now would be locked for ever in the new process.
        import pytest_recall.replay.secrets  # noqa: F401

        tapes = self._all()
        try:
            self.notes.before_fork()
            for tape in tapes:
                tape.before_fork()
                tape.too_late = partial(self.notes.write, "stray")
        except OSError as error:
            # What the new process does would not be known here.
            self.refuse(f"a child process was forked that cannot be followed ({error.strerror})")

    def after_fork(self) -> None:
        """Go on in the new process."""
        self._lock = threading.Lock()
        self.notes.after_fork()
        for tape in self._all():
            tape.after_fork()

    def _all(self) -> list[Tape]:
        return self._tapes_in(self._contexts, self._lanes)

    @staticmethod
    def _tapes_in(*contexts: Sequence[CaseContext]) -> list[Tape]:
        return list(dict.fromkeys(tape for context in chain(*contexts) for tape in context.tapes))

    def _forget_forks(self, tape: Tape) -> None:
        """Let no forked process do anything to a tape that closes; what it was refused last is said for itself."""
        tape.forget_forks()
        for message in self._refused_of(tape):
            self._tell(message)

    def _refused_of(self, tape: Tape) -> list[str]:
        """Return what forked processes were refused for a tape since this was last called."""
        refused = tape.refused()
        self.has_refused = self.has_refused or bool(refused)
        return refused

    def _is_forked(self, tapes: Sequence[Tape]) -> bool:
        """Whether this is a process that was forked since these tapes were opened."""
        return any(tape.is_copy for tape in tapes) if tapes else self.notes.is_copy

    def hear_forked(self) -> None:
        """Take in what forked processes have done since this was last called."""
        if self.notes.log is None:
            return
        for tape in self._all():
            tape.hear()
            for message in self._refused_of(tape):
                self._give_up(tape, self._error(message))
        for note in self.notes.read():
            self._hear(note)

    def _hear(self, note: Note) -> None:
        if note.kind == "missed":
            self.notes.answer(note.key)
        elif note.kind == "refused":
            self.refuse(note.text, ())
        elif note.kind == "unrecorded" and (tapes := self.opened()):
            for tape in tapes:
                tape.problems.append(f"{tape.name}: {note.text}")
        elif note.text not in self.strays:
            self._tell(note.text)


KIND: ContextVar[str | None] = ContextVar("recall_kind", default=None)
"""Who makes calls here, where that is said: `agent`, `judge` or `worker`."""
CARRIED: tuple[ContextVar[Any], ...] = (CURRENT_CASE, KIND, LIVE, LET_THROUGH)
"""What a task has to take along of where it was begun."""


def carried(in_thread: bool) -> list[tuple[ContextVar[Any], Any]]:
    """Return what a thread takes along that is started here, or else what is handed over to be run elsewhere.

    That is whose it is, who makes calls in it, and which ones; nothing for a thread that is started for no case.
    """
    taken = [(variable, variable.get()) for variable in CARRIED]
    if in_thread and not any(value for _, value in taken):
        return []
    return [*taken, (IN_THREAD, in_thread)]
