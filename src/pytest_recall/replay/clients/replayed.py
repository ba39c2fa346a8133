"""Raise and time what a recorded call had ended with, as its client does."""

from __future__ import annotations

import builtins
import re
import sys
from typing import Any

from pytest_recall.files.event_loop import running_asyncio
from pytest_recall.replay.exchange import CANCELLED, Exchange, Failure
from pytest_recall.replay.player import Player

_PLACES = (
    *("socket", "ssl", "urllib3.exceptions", "aiohttp", "http.client", "httplib2"),
    *("tornado.simple_httpclient", "tornado.curl_httpclient"),
)
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
        if numbered:
            return cls(int(numbered[1]), numbered[2])
        return cls(message) if message else cls()
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


async def in_turn() -> None:
    """Let the other tasks of the loop run on, as a real call does: they may want to ask too before this one is done."""
    if (asyncio := running_asyncio()) is not None:  # another library's loop knows no such sleep
        await asyncio.sleep(0)


def is_an_end(error: BaseException) -> bool:
    """Whether `error` is how a call ends: by an error, or since its task was cancelled, as that of a lost race is."""
    return isinstance(error, Exception) or type(error).__name__ == CANCELLED


async def cancelled(exchange: Exchange, asked: str, player: Player) -> None:
    """Wait to be cancelled, if that is what had ended the recorded call, of the method and URL in `asked`."""
    if exchange.failure is None or exchange.failure.kind != CANCELLED:
        return
    import asyncio

    await asyncio.sleep(exchange.seconds + 5)
    raise player.refuse(f"{asked}: was cancelled when it was recorded, and is waited for now; record the case again")


def read_on(asked: str, player: Player) -> BaseException:
    """Return the error for who reads on where the recorded client had closed the response."""
    return player.refuse(f"{asked}: read on where the recorded client had closed the stream; record the case again")
