"""Wait for other threads in steps, so that Ctrl-C always ends the wait.

Python handles a signal between two instructions of the main thread. One that arrives after the last of them, and before
the thread sleeps in the lock that it waits for, is handled when that returns: without a limit of time perhaps never.
The gap is wide where other threads compute, since the interpreter is handed to one of them there.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from concurrent.futures import FIRST_COMPLETED, Future, wait
from queue import Empty, Queue
from typing import TypeVar

Given = TypeVar("Given")
STEP = 1.0
"""Seconds after which a wait of the main thread, the only one that handles signals, looks for them and goes on."""


def _step() -> float | None:
    return STEP if threading.current_thread() is threading.main_thread() else None


def wait_for(event: threading.Event) -> None:
    """Wait until the event is set."""
    __tracebackhide__ = True
    while not event.wait(_step()):
        pass


def result_of(future: Future[Given]) -> Given:
    """Return the result of a call, or raise what it raised, once it is over."""
    __tracebackhide__ = True
    while True:
        try:
            return future.result(_step())
        except TimeoutError:
            if future.done():  # It may have raised one itself.
                return future.result()


def first_of(futures: Collection[Future[Given]]) -> set[Future[Given]]:
    """Return those of the calls that are over, once one of them is."""
    while not (found := wait(futures, _step(), FIRST_COMPLETED).done):
        pass
    return found


def next_of(queue: Queue[Given]) -> Given:
    """Return the next entry of a queue, once there is one."""
    while True:
        try:
            return queue.get(timeout=_step())
        except Empty:
            continue
