"""Let a process end though threads of its session wait for ever for what a replay has refused to send.

Python waits at its exit for each thread that is no daemon. The thread of a case that waits for a pool of processes, of
which one was refused a call and has ended by that, hears of no end: no exception reaches a thread that waits for a
lock, unless it is the main one. So at exit it is the main thread that is interrupted, where it waits for that thread.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Collection
from itertools import chain
from types import FrameType
from typing import Any

from pytest_recall.files import clock
from pytest_recall.files.errors import AfterSessionError
from pytest_recall.replay import interrupt

_PAUSE = 0.05
_REFUSED = "they may wait for a call that was refused, for ever: give each wait of the agent a time limit"
_sessions: list[tuple[Collection[threading.Thread], Callable[[str], None]]] = []
"""The threads that each session has left, and how it says something."""


def end_without(left: Collection[threading.Thread], tell: Callable[[str], None]) -> None:
    """Let the exit of this process wait for the threads that a session has `left` no longer than a while.

    That begins when it waits for no other thread. Those that it does not wait for are said through `tell`.
    """
    # Functions of `atexit` are called when all threads have ended; Python has no public name for what comes before.
    register = getattr(threading, "_register_atexit", None)
    if register is None or not hasattr(signal, "pthread_kill"):
        return
    _sessions.append((left, tell))
    if len(_sessions) > 1:
        return  # One process may have several, and has one exit.
    begun = threading.Event()
    # Python 3.12 starts no thread at exit. This one is a daemon, which is not waited for.
    threading.Thread(target=_interrupt_exit, args=(begun,), name="recall-exit", daemon=True).start()

    def exits() -> None:
        signal.signal(signal.SIGURG, _stop_waiting)
        begun.set()

    register(exits)


def _awaited() -> set[threading.Thread]:
    """Return the threads that an exit waits for, if sessions have left them all; else none."""
    awaited = {one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()}
    left = set(chain.from_iterable(threads for threads, _ in _sessions))
    return awaited if awaited <= left else set()


def _interrupt_exit(begun: threading.Event) -> None:
    """Interrupt the exit, once that has `begun` and waited for such threads alone for long enough."""
    begun.wait()
    since = clock.monotonic()
    while (now := clock.monotonic()) - since < interrupt.LONG:
        if not _awaited():
            since = now
        time.sleep(_PAUSE)
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGURG)


def _stop_waiting(number: int, frame: FrameType | None) -> None:
    """End the wait of the main thread, unless the threads have ended meanwhile."""
    names = ", ".join(sorted(f"`{one.name}`" for one in _awaited()))
    if not names:
        return
    _, tell = _sessions[-1]
    tell(f"the exit of the process did not wait for the threads {names}; {_REFUSED}")
    hook = sys.unraisablehook

    def unraisable(raised: Any) -> None:
        """Keep quiet about the one error, which Python would print with its traceback."""
        sys.unraisablehook = hook
        if raised.exc_type is not AfterSessionError:
            hook(raised)

    sys.unraisablehook = unraisable
    raise AfterSessionError(1)
