"""Read the stack: whether a module is being imported, and for a message which line has led to a connection.

Nothing is recorded, served, refused or let through by a stack.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import cache
from types import FrameType

_MACHINERY = ("pluggy", "_pytest", "xdist", "execnet")


def is_importing(frame: FrameType | None) -> bool:
    """Return whether a module is being imported in the thread whose innermost frame this is."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def line_of_caller() -> str:
    """Return `file:line` of the session's code that has led here, or of the package that did where there is none."""
    frame: FrameType | None = sys._getframe(1)
    found = ""
    while frame is not None:
        file, module = frame.f_code.co_filename, str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in ("pytest_recall", *_MACHINERY):
            if not _is_library(file):
                return f"{os.path.relpath(file) if file.startswith(os.sep) else file}:{frame.f_lineno}"
            if not found and not file.startswith(_STDLIB):
                found = f"{module}:{frame.f_lineno}"
        frame = frame.f_back
    return found


@cache
def _is_library(file: str) -> bool:
    """Whether a file is Python's own or of an installed package."""
    return file.startswith(("<frozen ", *_FOLDERS))


_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

_STDLIB = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib")})
