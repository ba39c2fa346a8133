"""See which files a process opens to read, whoever does it: a package, a program's own code or Python itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_opened: set[str] | None = None


def watch() -> None:
    """Note from now on, in place of before, what is opened to be read.

    It cannot be undone: Python has no way to remove an audit hook.
    """
    global _opened
    if _opened is None:
        sys.addaudithook(_note)
    _opened = set()


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or _opened is None:
        return
    path, mode, flags = arguments
    if isinstance(path, (str, bytes)) and _reads(mode, flags):
        try:
            _opened.add(os.path.abspath(os.fsdecode(path)))  # noqa: PTH100 - a link is resolved later, and not for all.
        except OSError:  # The current directory is gone.
            return


def _reads(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return "r" in mode and "+" not in mode
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) == 0


def files() -> Iterator[Path]:
    """Yield the real paths of what was opened since `watch`."""
    for path in list(_opened or ()):  # Another thread may open one meanwhile.
        yield Path(path).resolve()
