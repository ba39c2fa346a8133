"""End what a case waits for, once another thread has missed a recording.

A miss is found where the call is made, which may be a thread that an agent keeps for its calls. What happens to that
does not reach the agent, which would wait for an answer for ever. So the thread that runs the case is interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType
from typing import Any, Protocol
from weakref import WeakSet

from pytest_recall.files.errors import MissError
from pytest_recall.files.event_loop import current_task, running_asyncio
from pytest_recall.replay.forks import is_in_turn
from pytest_recall.replay.hooks import Undo
from pytest_recall.replay.origin import is_importing

GRACE = 0.25
"""Seconds in which an agent that is told of a miss by its own means ends by itself, without an interruption."""
AGAIN = 2.0
"""Seconds after which a case that is still not over is interrupted once more: what cleans up may wait as well."""
LONG = 5.0
"""Seconds after which a case that may wait for a refused call is ended: a replay waits for nothing else."""

IN_THREAD: ContextVar[bool] = ContextVar("recall_in_thread", default=False)
"""Whether this is a thread that a case has started: no exception reaches who waits for it."""


def is_in_task() -> bool:
    """Whether this is done in a task of asyncio: an exception reaches who awaits that, and nobody else."""
    return current_task() is not None


def _retrieve(task: Any) -> BaseException | None:
    """Return the error by which a task has ended, which asyncio else says that nobody has taken in."""
    return None if task.cancelled() else task.exception()


class Wait(Protocol):
    """What runs a case, and may wait for another thread."""

    @property
    def thread_id(self) -> int | None:
        """The thread that it runs on; None before it has begun."""

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for the end of what it does, and return whether that has come."""

    def give_up(self, error: BaseException) -> None:
        """End what it does by `error`, unless it ends by itself soon."""


class Block:
    """A block of code that a miss of another thread ends, run by the thread that makes this object.

    It is one of `blocks` until the end of a `with` statement. Each case of each run has several.
    """

    __slots__ = ("_blocks", "_running", "error", "over", "thread_id")

    def __init__(self, blocks: list[Block]) -> None:
        self.thread_id: int | None = threading.get_ident()
        self.over = False
        self.error: BaseException | None = None
        # Held while the block runs. An event takes ten times as long to make.
        self._running = threading.Lock()
        self._running.acquire()
        self._blocks = blocks
        blocks.append(self)

    def __enter__(self) -> Block:
        return self

    def __exit__(self, *raised: object) -> None:
        self.over = True
        self._running.release()
        self._blocks.remove(self)

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for its end, and return whether it has come."""
        if self._running.acquire(timeout=seconds):
            self._running.release()
        return self.over

    def give_up(self, error: BaseException) -> None:
        """End the block by `error`, unless it ends by itself soon. Called by the thread that has missed."""
        if self.error is None and self.thread_id is not None:
            self.error = error
            # A daemon, as below: a case that never ends must not keep the process from ending.
            threading.Thread(target=self._keep_interrupting, args=(error,), name="recall-miss", daemon=True).start()

    def _keep_interrupting(self, error: BaseException) -> None:
        assert self.thread_id is not None
        seconds = GRACE
        while not self.is_over(seconds):
            # A module that is imported would stay half there, for all cases that come, and a lock be held.
            frame = sys._current_frames().get(self.thread_id)
            if not (busy := is_importing(frame) or is_in_turn(frame)):
                _interrupt(self.thread_id, type(error))
            seconds = GRACE if busy else AGAIN


def _interrupt(thread: int, error: type[BaseException]) -> None:
    """Interrupt what the thread does: the main thread even while it waits for a lock, others at their next step."""
    # An exception that is set from outside is seen between two instructions, and not by a thread that waits in a
    # lock. A signal ends that wait, and its handler, that of `listen`, raises. Only the main thread runs handlers.
    if thread == threading.main_thread().ident and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGURG)
        return
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))


class Interrupter:
    """Ends cases that wait for a call which was refused in another thread.

    A case that is run in a block ends by an exception there; each other one has a `Wait` of its own. A thread, or a
    task, that works for several cases does not end by the miss of one: it is answered in place of the call. Should it
    end by that answer, the others wait for it in vain: `lost` is called with what they then wait for. `interrupted` is
    called whenever the main thread is interrupted.
    """

    def __init__(self, lost: Callable[[str], None], interrupted: Callable[[], None]) -> None:
        self.lost = ""
        """What cases may wait for in vain from now on; empty if there is no such thing."""
        self._lost, self._interrupted = lost, interrupted
        self._blocks: list[Block] = []
        self._answered: WeakSet[threading.Thread] = WeakSet()

    def block(self) -> Block:
        """End what this thread does in this block when another one has missed a recording, whatever it waits for."""
        return Block(self._blocks)

    @property
    def innermost(self) -> Block | None:
        """The block that was begun last."""
        return self._blocks[-1] if self._blocks else None

    def end_later(self, wait: Wait, end: Callable[[], object]) -> None:
        """Call `end`, from another thread, if what a case does is not over in a while: it may wait in vain."""

        def look() -> None:
            if not wait.is_over(LONG):
                end()

        threading.Thread(target=look, name="recall-wait", daemon=True).start()

    def give_up(self, wait: Wait | None, error: BaseException) -> None:
        """Let who waits for this thread or task know of the `error` by which it ends: the `wait` of a case, if any.

        Of a task that a case has begun, only who awaits it hears how it ends, and that may be nobody. What a callback
        of an event loop raises, the loop logs.
        """
        if (task := current_task()) is not None:
            task.add_done_callback(_retrieve)
        if wait is not None and (wait.thread_id != threading.get_ident() or running_asyncio() is not None):
            wait.give_up(error)

    def answered(self) -> None:
        """Take in that this thread or task was answered in place of a call that is refused; other cases may need it."""
        if (task := current_task()) is not None:
            task.add_done_callback(self._task_ended)
        else:
            self._answered.add(threading.current_thread())

    def check(self, frame: FrameType | None = None) -> None:
        """Raise the error by which a block is to end, in the main thread that runs it at `frame`."""
        if is_importing(frame) or is_in_turn(frame):
            return
        for block in reversed(self._blocks):
            if block.thread_id == threading.get_ident() and block.error is not None and not block.over:
                raise type(block.error)(*block.error.args)

    def listen(self) -> list[Undo]:
        """Check the blocks whenever the main thread is interrupted; return how to take it back.

        The signal is SIGURG, which processes ignore, so that one which comes late does nothing.
        """
        if not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread():
            return []
        before = signal.getsignal(signal.SIGURG)
        if before is None:
            return []  # A handler that is none of Python's could not be put back.

        def handle(number: int, frame: FrameType | None) -> None:
            self._interrupted()
            self.check(frame)

        signal.signal(signal.SIGURG, handle)

        def undo() -> None:
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGURG, before)

        return [undo]

    def hear_ends(self) -> Undo:
        """Hear how threads end. One that ends by a miss does so without a traceback: that is said where the test is."""
        before = threading.excepthook

        def excepthook(args: threading.ExceptHookArgs) -> None:
            if not self._ended(args.thread, args.exc_type):
                before(args)

        threading.excepthook = excepthook

        def undo() -> None:
            if threading.excepthook is excepthook:
                threading.excepthook = before

        return undo

    def _ended(self, thread: threading.Thread | None, error: type[BaseException]) -> bool:
        """Take in that a thread has ended by an exception; return whether a refused call was the cause."""
        if thread not in self._answered:
            return issubclass(error, MissError)
        assert thread is not None
        self._lose(f"the thread `{thread.name}`")
        return True

    def _task_ended(self, task: Any) -> None:
        if _retrieve(task) is not None:
            self._lose(f"the task `{task.get_name()}`")

    def _lose(self, what: str) -> None:
        self.lost = f"it may wait for {what}, which has missed a recording for another case"
        self._lost(self.lost)
