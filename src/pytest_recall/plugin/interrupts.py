"""A Ctrl-C: postponed while a run writes down what it came to, and reported wherever it comes."""

from __future__ import annotations

import signal
import threading
from collections import deque
from types import FrameType, TracebackType
from typing import Any

import pytest


class Postponed:
    """Hold back the first Ctrl-C of a `with` block, which `came` then tells of; the second one is raised at once.

    Only the main thread is interrupted by one, and only where Python, or who has put a function in its place, handles
    it.
    """

    def __init__(self) -> None:
        self.came = False
        self._handler: Any = None

    def __enter__(self) -> Postponed:
        if threading.current_thread() is threading.main_thread():
            handler = signal.getsignal(signal.SIGINT)
            if callable(handler):
                self._handler = handler
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *raised: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            self._handler(number, frame)
        self.came = True


def complete_lines(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """Give each entry of a traceback a line.

    CPython 3.11 and 3.12 have jumps back, at the end of a loop, that belong to no line, and check for signals there.
    pytest cannot report such an entry: it ends in a `TypeError`, and with 1 in place of 2.
    """
    entries = []
    traceback: TracebackType | None = excinfo.tb
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    if all(entry.tb_lineno is not None for entry in entries):
        return
    completed: TracebackType | None = None
    for entry in reversed(entries):
        line = entry.tb_lineno
        completed = TracebackType(
            completed, entry.tb_frame, entry.tb_lasti, _last_line(entry) if line is None else line
        )
    if completed is not None:
        excinfo.value.__traceback__ = completed
        excinfo.traceback = type(excinfo.traceback)(completed)


def _last_line(entry: TracebackType) -> int:
    """Return the line of the last instruction before this one that has one."""
    code = entry.tb_frame.f_code
    before = (line for begin, _, line in code.co_lines() if begin <= entry.tb_lasti and line is not None)
    return deque(before, maxlen=1).pop()
