"""End what a case waits for, once another thread has missed a recording.

A miss is found where the call is made, which may be a thread that an agent keeps for its calls. What happens to that
does not reach the agent, which would wait for an answer for ever. So the thread that runs the case is interrupted.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from typing import Protocol

from pytest_recall.replay.forks import is_in_turn
from pytest_recall.replay.origin import is_importing

GRACE = 0.25
"""Seconds in which an agent that is told of a miss by its own means ends by itself, without an interruption."""
AGAIN = 2.0
"""Seconds after which a case that is still not over is interrupted once more: what cleans up may wait as well."""
LONG = 5.0
"""Seconds after which a case that may wait for a refused call is ended: a replay waits for nothing else."""


class Waits(Protocol):
    """A thread that runs a case, and may wait for another one."""

    @property
    def thread_id(self) -> int | None:
        """That thread; None before it has begun."""

    def is_over(self, seconds: float) -> bool:
        """Wait up to some seconds for the end of what it does, and return whether that has come."""

    def give_up(self, error: BaseException) -> None:
        """End what it does by `error`, unless it ends by itself soon."""


def keep_interrupting(thread: int, is_over: Callable[[float], bool], error: type[BaseException]) -> None:
    """Interrupt what a thread does, from another thread, until it is over; one that is not the main one by `error`."""

    def interrupt() -> None:
        seconds = GRACE
        while not is_over(seconds):
            # A module that is imported would stay half there, for all cases that come, and a lock be held.
            frame = sys._current_frames().get(thread)
            if not (busy := is_importing(frame) or is_in_turn(frame)):
                _interrupt(thread, error)
            seconds = GRACE if busy else AGAIN

    # A daemon, here and below: a case that never ends must not keep the process from ending.
    threading.Thread(target=interrupt, name="recall-miss", daemon=True).start()


def end_later(wait: Waits, end: Callable[[], object]) -> None:
    """Call `end`, from another thread, if what a thread does is not over in a while: it may wait in vain."""

    def look() -> None:
        if not wait.is_over(LONG):
            end()

    threading.Thread(target=look, name="recall-wait", daemon=True).start()


def _interrupt(thread: int, error: type[BaseException]) -> None:
    """Interrupt what the thread does: the main thread even while it waits for a lock, others at their next step."""
    # An exception that is set from outside is seen between two instructions, and not by a thread that waits in a
    # lock. A signal ends that wait, and its handler, which `watch` sets, raises. Only the main thread runs handlers.
    if thread == threading.main_thread().ident and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, signal.SIGURG)
        return
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(error))
