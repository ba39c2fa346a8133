"""Let threads take along what the code that has started them says of who makes calls."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any

Undo = Callable[[], None]


def carry(first: ContextVar[Any], *others: ContextVar[Any]) -> list[Undo]:
    """Let threads that are started where `first` is set have these variables, and return how to take it back.

    Tasks of asyncio have them anyway. A thread of an executor has those of anyone who submitted what
    it works on, for as long as it does. Other variables stay behind, as without us.
    """
    variables = (first, *others)
    start: Any = threading.Thread.start
    submit: Any = ThreadPoolExecutor.submit

    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        if first.get() is not None:
            taken, run = _values(variables), self.run

            def within() -> None:
                del self.run
                for variable, value in taken:
                    variable.set(value)
                run()

            self.run = within  # type: ignore[method-assign]
        start(self)

    @functools.wraps(submit)
    def submitted(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        taken = _values(variables)

        def within() -> Any:
            tokens = [(variable, variable.set(value)) for variable, value in taken]
            try:
                return fn(*args, **kwargs)
            finally:
                for variable, token in tokens:
                    variable.reset(token)

        return submit(self, within)

    threading.Thread.start = started  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign, assignment]
    return [
        functools.partial(setattr, threading.Thread, "start", start),
        functools.partial(setattr, ThreadPoolExecutor, "submit", submit),
    ]


def _values(variables: tuple[ContextVar[Any], ...]) -> list[tuple[ContextVar[Any], Any]]:
    return [(variable, variable.get(None)) for variable in variables]
