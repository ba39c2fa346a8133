"""Read the variables of the environment again only when one of them changes, as its audit events say.

Each look-up of a variable that is not set raises an error within `os.environ`, and each call would make all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeVar

from pytest_recall.files import clock
from pytest_recall.replay import audit

T = TypeVar("T")

_SETTLED = 1.0
"""Seconds after its event in which a change is made for certain: the event comes right before."""


class _Changes:
    """How often a variable was changed, and when that was last."""

    count = 0
    last = float("-inf")

    def hear(self, *_: object) -> None:
        self.count, self.last = self.count + 1, clock.monotonic()


@cache
def _changes() -> _Changes:
    changes = _Changes()
    audit.listen({"os.putenv": changes.hear, "os.unsetenv": changes.hear})
    return changes


def once_read(read: Callable[[Mapping[str, str]], T]) -> Callable[[], T]:
    """Return a function that gives `read(os.environ)` as it is now."""
    environment = os.environ
    known: tuple[int, T] | None = None

    def value() -> T:
        nonlocal known
        if os.environ is not environment:
            return read(os.environ)  # Something else stands for it, which says nothing of its changes.
        changes = _changes()
        count = changes.count
        if known is None or known[0] != count or clock.monotonic() - changes.last < _SETTLED:
            known = count, read(environment)
        return known[1]

    return value
