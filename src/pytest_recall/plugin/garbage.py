"""Keep long-lived objects out of garbage collection with `gc.freeze`.

Importing SDKs, reading cases and collecting items makes many objects and leaves hardly any behind. As a
session ends pytest has the collector walk over all of them twice, and the interpreter twice
more. Without this the collector takes a quarter of the time of a large run that calls no
model (`benchmarks/`).
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_OF_THE_INTERPRETER = 1_000
"""Python 3.12 begins with some 400 frozen objects of its own; who freezes with pytest loaded has tens of thousands."""
_LOOKS_LATER = pytest.version_tuple < (9,)
"""Whether pytest looks once more for what was not closed after all of its `pytest_unconfigure` hooks."""
_PAUSED = pytest.StashKey[tuple[int, int, int]]()
"""The threshold of the collector before."""
_FROZEN = pytest.StashKey[bool]()


def pause(config: pytest.Config) -> None:
    """Collect nothing until `freeze` or `resume`, or the end of the session if none comes.

    By the threshold, so that a conftest file which disables the collector, or enables it, has what it wants.
    """
    threshold = gc.get_threshold()
    if threshold[0] and gc.isenabled():
        gc.set_threshold(0)
        config.stash[_PAUSED] = threshold
        config.add_cleanup(lambda: resume(config))


def freeze(config: pytest.Config) -> None:
    """Take modules, cases and items, all that there is now, out of what is walked until `thaw`.

    Nothing is, if someone else has frozen objects, which `thaw` would let go as well.
    """
    if gc.get_freeze_count() < _OF_THE_INTERPRETER:
        gc.freeze()
        config.stash[_FROZEN] = True
    resume(config)
    # pytest has looked for what was not closed by then, and the process gives its memory back as a whole.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


@contextmanager
def walked(config: pytest.Config) -> Iterator[None]:
    """Undo `freeze` inside, where pytest looks for what was not closed, and freeze again.

    Only where someone makes warnings errors: what tests leave behind is found in any case, and
    to look for what collection made and tests dropped takes a twentieth of a large run.
    """
    filters = [*config.getini("filterwarnings"), *(config.known_args_namespace.pythonwarnings or ())]
    frozen = any(one.startswith("error") for one in filters) and thaw(config)
    yield
    if frozen and not _LOOKS_LATER:
        freeze(config)


def thaw(config: pytest.Config) -> bool:
    """Undo `freeze`; return whether there was one."""
    frozen = config.stash.get(_FROZEN, False)
    if frozen:
        config.stash[_FROZEN] = False
        gc.unfreeze()
    return frozen


def resume(config: pytest.Config) -> None:
    """Undo `pause`, if there was one."""
    threshold = config.stash.get(_PAUSED, None)
    if threshold is not None:
        del config.stash[_PAUSED]
        if gc.get_threshold()[0] == 0:
            gc.set_threshold(*threshold)
