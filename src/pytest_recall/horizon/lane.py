"""Lane: a thread that makes one call after the other, so that somebody can stop waiting for one of them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, TypeVar

Given = TypeVar("Given")


class Lane:
    """A thread of its own. It does not keep the process alive: a call that never ends is left behind with it."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._serve, name="recall-memory", daemon=True).start()

    def submit(self, call: Callable[[], Given]) -> Future[Given]:
        """Make the call once those before it are over, in a copy of this context; return where it will be told."""
        future: Future[Given] = Future()
        context = copy_context()
        self._calls.put((future, lambda: context.run(call)))
        return future

    def close(self) -> None:
        """Let the thread end, once what it was given is done."""
        self._calls.put(None)

    def _serve(self) -> None:
        while (given := self._calls.get()) is not None:
            future, call = given
            try:
                future.set_result(call())
            except BaseException as error:  # Whoever waits for it raises it.
                future.set_exception(error)
