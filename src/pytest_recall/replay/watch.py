"""Watch HTTP clients as they are imported, and sockets, for as long as a session lasts."""

from __future__ import annotations

import atexit
import functools
import sys
import threading
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING
from weakref import WeakSet

from pytest_recall.replay import sockets
from pytest_recall.replay.forks import ErrorOutput
from pytest_recall.replay.hooks import Undo, carry, once_imported
from pytest_recall.replay.open_tapes import carried
from pytest_recall.replay.player import Player
from pytest_recall.replay.process_end import end_without
from pytest_recall.replay.unrecorded import watch_unrecorded

if TYPE_CHECKING:
    from pytest_recall.replay.clients.http_client import HttpCalls

HTTPX_FAMILY = ("httpx2", "httpx", "httpcore2", "httpcore")
"""The clients, and what they send by: a client imports that late."""


LM15 = tuple(
    f"{package}.transports.{name}" for package in ("lm15", "dspy._vendor.lm15") for name in ("_sync", "_async")
)
"""The transports of lm15, and of DSPy's copy of it."""
HTTP_CLIENTS = ("http.client", "urllib3.connection", "httplib2")
"""The modules with classes of connections that are those of http.client, or open them as these do."""
TORNADO = ("tornado.simple_httpclient", "tornado.curl_httpclient")


def install(player: Player) -> list[Undo]:
    """Patch the clients that are loaded, and each other one as soon as an agent imports it.

    What is returned takes it back, called from the last to the first; it grows with what is imported.
    """
    undo: list[Undo] = []
    patched: set[type] = set()

    def patch(module: ModuleType) -> None:
        from pytest_recall.replay.clients import httpx_family

        undo.extend(httpx_family.patch(module, player, patched))

    def patch_aiohttp(module: ModuleType) -> None:
        from pytest_recall.replay.clients import aiohttp_client

        undo.extend(aiohttp_client.patch(module, player))

    def patch_lm15(module: ModuleType) -> None:
        from pytest_recall.replay.clients import lm15_client

        undo.extend(lm15_client.patch(module, player))

    def patch_tornado(module: ModuleType) -> None:
        from pytest_recall.replay.clients import tornado_client

        undo.extend(tornado_client.patch(module, player))

    @functools.cache
    def http_calls() -> HttpCalls:
        from pytest_recall.replay.clients.http_client import HttpCalls

        return HttpCalls(player)

    undo.append(once_imported(HTTPX_FAMILY, patch))
    undo.append(once_imported(("aiohttp.client",), patch_aiohttp))
    undo.append(once_imported(LM15, patch_lm15))
    undo.append(once_imported(HTTP_CLIENTS, lambda module: undo.extend(http_calls().patch(module))))
    undo.append(once_imported(TORNADO, patch_tornado))
    return undo


class Watch:
    """Puts `player` before the clients and the sockets, until `close` or later. Raises RecallError.

    A replay sends nothing, not even after the session: by a thread that outlives it, or by what
    it has registered with `atexit`. A recording says what it lacks of that. But the process may be
    someone else's, as with `pytest.main`, who may connect again as soon as the session is over. Both
    are told apart by what began in the session, so that it does not matter whose process it is:
    - Threads that were not there when the session began, and are at its end, go on being refused,
      and only for their sake httpx stays patched and the sockets guarded. Without any, everything is
      put back.
    - Functions of `atexit` are called from the last to the first. One that is registered at the
      end of the session and one at its beginning have those of the session between them.
    """

    def __init__(self, player: Player) -> None:
        if player.mode == "replay":
            sockets.ensure_stopped()
        self.player = player
        self._before: WeakSet[threading.Thread] = WeakSet(threading.enumerate())
        self._left: WeakSet[threading.Thread] = WeakSet()
        self._undo: list[list[Undo]] = []
        self._signals = player.interrupter.listen()
        self._closed = False
        self._exiting = False
        self._told: set[str] = set()
        self._stderr = ErrorOutput()
        player.tell_alone = self._tell
        if player.mode != "off":
            atexit.register(self._exited)
        self._install()

    def close(self) -> None:
        """End the session: put back what is patched, except for what a recording or a replay has left behind."""
        if self._closed:
            return
        self._closed = True
        _undone(self._signals)
        if self.player.mode != "off":
            self._left.update(set(threading.enumerate()) - set(self._before) - {threading.current_thread()})
            self.player.end(self._is_ours, self._tell)
            if self._left and self.player.mode == "replay" and self.player.has_refused:
                end_without(self._left, self._tell)
            atexit.register(self._exit)
        self._stderr.close()
        if not self._left:
            self._take_back()

    def tell_at_once(self) -> None:
        """From now on tell what no case answers for as it comes: what the run says at its end is said."""
        self.player.tell_by(self._tell)

    def call_off(self) -> None:
        """Put everything back at once, as if there had never been a replay."""
        self._closed = True
        _undone(self._signals)
        self._stderr.close()
        self._take_back()
        atexit.unregister(self._exited)

    def _is_ours(self) -> bool:
        return self._exiting or threading.current_thread() in self._left

    def _exit(self) -> None:
        self._exiting = True
        if not self._undo:
            self._install()

    def _exited(self) -> None:
        self._exiting = False
        if not any(thread.is_alive() for thread in self._left):
            self._take_back()

    def _install(self) -> None:
        self._undo = [install(self.player), carry(carried)]
        if self.player.mode != "off":
            self._undo += [watch_unrecorded(self.player), sockets.guard(self.player)]

    def _take_back(self) -> None:
        while self._undo:
            _undone(self._undo.pop())

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            if self._stderr.is_forked:
                self._stderr.write(f"recall: {message}\n")
                return
            with suppress(AttributeError, OSError, ValueError):  # stderr may be gone by now
                print(f"recall: {message}", file=sys.stderr, flush=True)


def _undone(undo: list[Undo]) -> None:
    while undo:
        undo.pop()()
