"""Give a context variable a value for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def assigned(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Let a context variable have a value in this block."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
