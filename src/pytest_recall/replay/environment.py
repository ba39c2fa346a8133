"""Read variables of the environment once, as long as the audit events of the interpreter say that none has changed.

Each look-up of a variable that is not set raises an error within `os.environ`, and each call would make all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TypeVar

from pytest_recall.replay import audit

T = TypeVar("T")


@cache
def _changed() -> set[str]:
    """Return the variables that have changed, or are about to, since this was first asked."""
    names: set[str] = set()

    def hear(name: bytes | str, *_: object) -> None:
        names.add(os.fsdecode(name))

    audit.listen({"os.putenv": hear, "os.unsetenv": hear})
    return names


def once_read(names: Collection[str], read: Callable[[Mapping[str, str]], T]) -> Callable[[], T]:
    """Return a function that gives `read(os.environ)` as it is now, where `read` looks at the variables `names`.

    Once one of them has changed they are read each time: an event comes before its change, which another thread may
    not have made yet.
    """
    environment, looked_at = os.environ, frozenset(names)
    known: list[T] = []

    def value() -> T:
        # Something else that stands for it says nothing of its changes.
        if os.environ is not environment or not looked_at.isdisjoint(_changed()):
            return read(os.environ)
        if not known:
            known.append(read(environment))
        return known[0]

    return value
