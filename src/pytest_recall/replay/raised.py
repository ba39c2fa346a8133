"""Raised: the exception of a recorded failure, as the library raised it that the agent uses."""

from __future__ import annotations

import builtins
import re
import sys
from typing import Any

from pytest_recall.core.exchange import Failure

_PLACES = ("socket", "ssl", "urllib3.exceptions", "aiohttp", "http.client", "httplib2")
_NUMBERED = re.compile(r"\[Errno (-?\d+)\] (.*)", re.DOTALL)


def raised(failure: Failure | None) -> Exception:
    """Return an exception of the recorded class, or of the nearest one that everybody knows, with its text."""
    kind, message = failure or Failure("ConnectionError", "the connection was lost")
    if kind.endswith(("Timeout", "TimedOut")):
        fallback: type[Exception] = TimeoutError
    else:
        fallback = ConnectionError
    cls = _named(kind) or fallback
    numbered = _NUMBERED.fullmatch(message)
    if issubclass(cls, OSError) and cls.__module__ == "builtins":
        return cls(int(numbered[1]), numbered[2]) if numbered else cls(message)
    return _speaking(cls, message)


def _named(kind: str) -> type[Exception] | None:
    for module in (builtins, *(sys.modules.get(place) for place in _PLACES)):
        cls = getattr(module, kind, None)
        if isinstance(cls, type) and issubclass(cls, Exception):
            return cls
    return None


def _speaking(cls: type[Exception], message: str) -> Exception:
    """Return an instance of `cls` that says `message`: many are made from what only a real connection has."""

    def init(self: Any) -> None:
        Exception.__init__(self, message)

    def text(self: Any) -> str:
        return message

    members = {"__init__": init, "__str__": text, "__repr__": lambda self: f"{cls.__name__}({message!r})"}
    made: Any = type(cls.__name__, (cls,), {**members, "__module__": cls.__module__})
    error: Exception = made()
    return error
