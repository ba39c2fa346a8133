"""Hear the audit events of the interpreter, by one hook.

Plugins and mocks replace functions and methods, and put back what they take for the original; code may also use what is
beneath. The events are raised below all of them, and a hook stays for the life of the process.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pytest_recall.replay.hooks import Undo

Check = Callable[..., None]
"""Takes the arguments of an event. What it raises comes in place of what the event is about."""

_checks: dict[str, tuple[Check, ...]] = {}
"""The checks of each event, those that came last first."""
_hooked = False


def listen(checks: Mapping[str, Check]) -> Undo:
    """Call each of `checks` whenever its event is raised, in any thread, before those that are there already."""
    global _hooked
    for event, check in checks.items():
        _checks[event] = (check, *_checks.get(event, ()))
    if not _hooked:
        sys.addaudithook(_heard)  # For good: there is no way to remove one.
        _hooked = True
    return functools.partial(_listen_no_more, checks)


def _listen_no_more(checks: Mapping[str, Check]) -> None:
    for event, check in checks.items():
        _checks[event] = tuple(other for other in _checks[event] if other is not check)


def _heard(
    event: str,
    args: tuple[Any, ...],
    checks_of: Callable[[str], tuple[Check, ...] | None] = _checks.get,
) -> None:
    # It is called for every file that is opened, and until the very end, when the names of the module are gone.
    checks = checks_of(event)
    if checks is not None:
        for check in checks:
            check(*args)
