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
from typing import Any

from pytest_recall.files import clock
from pytest_recall.files.errors import AfterSessionError
from pytest_recall.replay import interrupt

_PAUSE = 0.05
_REFUSED = "they may wait for a call that was refused, for ever: give each wait of the agent a time limit"


def end_without(left: Collection[threading.Thread], tell: Callable[[str], None]) -> None:
    """Let the exit of this process wait for the threads that a session has `left` no longer than a while.

    That begins when it waits for no other thread. Those that it does not wait for are said through `tell`.
    """
    # Functions of `atexit` are called when all threads have ended; Python has no public name for what comes before.
    register = getattr(threading, "_register_atexit", None)
    if register is None or not hasattr(signal, "pthread_kill"):
        return

    begun = threading.Event()
    # Python 3.12 starts no thread at exit. This one is a daemon, which is not waited for.
    threading.Thread(target=_interrupt_exit, args=(left, begun), name="recall-exit", daemon=True).start()

    def exits() -> None:
        before = signal.signal(signal.SIGURG, lambda *_: _stop_waiting(left, tell, before))
        begun.set()

    register(exits)


def _awaited() -> set[threading.Thread]:
    """Return the threads that an exit waits for."""
    return {one for one in threading.enumerate() if not one.daemon and one is not threading.main_thread()}


def _interrupt_exit(left: Collection[threading.Thread], begun: threading.Event) -> None:
    """Interrupt the exit, once that has `begun` and waited for threads of `left` alone for long enough."""
    begun.wait()
    since = clock.monotonic()
    while awaited := _awaited():
        now = clock.monotonic()
        if not awaited <= set(left):
            since = now
        if now - since >= interrupt.LONG:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGURG)
            return
        time.sleep(_PAUSE)


def _stop_waiting(left: Collection[threading.Thread], tell: Callable[[str], None], before: Any) -> None:
    """End the wait of the main thread, unless the threads have ended meanwhile."""
    signal.signal(signal.SIGURG, before)
    awaited = _awaited()
    if not awaited or not awaited <= set(left):
        return
    names = ", ".join(sorted(f"`{one.name}`" for one in awaited))
    tell(f"the exit of the process did not wait for the threads {names}; {_REFUSED}")
    hook = sys.unraisablehook

    def unraisable(raised: Any) -> None:
        """Keep quiet about the one error, which Python would print with its traceback."""
        sys.unraisablehook = hook
        if raised.exc_type is not AfterSessionError:
            hook(raised)

    sys.unraisablehook = unraisable
    raise AfterSessionError(1)
