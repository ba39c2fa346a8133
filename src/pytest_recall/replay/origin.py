"""Find from the stack whose code makes a call: the session's, a plugin's, or a package's at import.

A replay is about what an agent, a judge, a fixture or a conftest file asks. A pytest plugin that talks to its
controller or uploads a report is another matter, and so is what an installed package fetches as it is imported.
"""

from __future__ import annotations

import os
import socket
import sys
import sysconfig
from functools import cache
from types import FrameType
from typing import Literal

Origin = Literal["session", "plugin", "import", "pair"]
"""Of the session's own code; of pytest or a plugin; of a package that is being imported; of `socket.socketpair`."""

_LOOPS = ("asyncio", "trio")
_MACHINERY = ("pluggy", "_pytest", "xdist", "execnet")
_PAIR = ("socketpair", "_fallback_socketpair")
_RUNS_A_TEST = "pytest_pyfunc_call"


def origin() -> Origin:
    """Return whose code has led here: the innermost frame decides that is neither a library's nor of `replay`.

    A thread or an event loop says nothing of who started what it runs: that is the session's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code, module = frame.f_code, str(frame.f_globals.get("__name__", ""))
        package = module.partition(".")[0]
        if code.co_name in _PAIR and code.co_filename == socket.__file__:
            return "pair"
        if package in _LOOPS or (package == "pytest_recall" and not module.startswith("pytest_recall.replay.")):
            return "session"
        if package in _MACHINERY:
            return "session" if code.co_name == _RUNS_A_TEST else "plugin"
        if module == "importlib._bootstrap":
            return "import"
        if package != "pytest_recall" and not _is_library(code.co_filename):
            return "session"
        frame = frame.f_back
    return "session"


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
