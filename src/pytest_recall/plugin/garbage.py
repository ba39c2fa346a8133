"""Garbage: keep Python's collector from walking, again and again, over what stays to the end.

Reading cases and collecting items makes many objects and leaves hardly any behind, and the
interpreter walks over all of them twice more as it exits. Without this the collector takes
a sixth of the time of a large run that calls no model (`benchmarks/`).
"""

from __future__ import annotations

import atexit
import gc

import pytest

_PAUSED = pytest.StashKey[bool]()
_FROZEN = pytest.StashKey[bool]()


def pause(config: pytest.Config) -> None:
    """Collect nothing until `freeze`, or the end of the session if it does not come so far."""
    if gc.isenabled():
        gc.disable()
        config.stash[_PAUSED] = True
        config.add_cleanup(lambda: _resume(config))


def freeze(config: pytest.Config) -> None:
    """Take modules, cases and items, all that there is now, out of what is walked until `thaw`."""
    if gc.get_freeze_count() == 0:
        gc.freeze()
        config.stash[_FROZEN] = True
    _resume(config)
    # pytest has looked for what was not closed by then, and the process gives its memory back as a whole.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def thaw(config: pytest.Config) -> None:
    """Undo `freeze`, before pytest collects everything to find what was not closed."""
    if config.stash.get(_FROZEN, False):
        config.stash[_FROZEN] = False
        gc.unfreeze()


def _resume(config: pytest.Config) -> None:
    if config.stash.get(_PAUSED, False):
        config.stash[_PAUSED] = False
        gc.enable()
