"""Postpone a Ctrl-C while a run writes down what it came to."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


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
