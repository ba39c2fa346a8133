"""Deadline: until when whoever asks a memory waits for it, over all calls that the question takes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float | None] = ContextVar("recall_memory_deadline", default=None)
_LEAST = 0.001


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let calls of memories in this block, and in what copies its context, end by themselves in so many seconds."""
    token = _UNTIL.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def patience(own: float) -> float:
    """Return the seconds that a call may take: its own limit, or what is left until the deadline if that is less."""
    until = _UNTIL.get()
    return own if until is None else max(_LEAST, min(own, until - time.monotonic()))
