"""Know the programs that the plugin itself starts from those of the code under test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OWN: ContextVar[bool] = ContextVar("recall_own_program", default=False)
"""Whether a program that is started here is the plugin's own."""


@contextmanager
def own_start() -> Iterator[None]:
    """Start a program of the plugin's own in this block, which is none of the case that is open."""
    token = OWN.set(True)
    try:
        yield
    finally:
        OWN.reset(token)
