"""Tell by the stack of the thread whose code makes a call: the session's, a plugin's, or a package's at import.

A replay is about what an agent, a judge, a fixture or a conftest file asks. A pytest plugin that talks to its
controller or uploads a report is another matter, and so is what an installed package fetches as it is imported.
"""

from __future__ import annotations

import socket
import sys
import sysconfig
from functools import cache
from types import FrameType
from typing import Literal
from urllib.parse import urlsplit

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


@cache
def _is_library(file: str) -> bool:
    """Whether a file is Python's own or of an installed package."""
    return file.startswith(("<frozen ", *_FOLDERS))


_FOLDERS = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})

LOOPBACK = ("127.0.0.1", "::1")


def place_of(url: str) -> tuple[str, int | None]:
    """Return the host and the port of a URL; nothing for what is none, which is for its client to say."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "", None
