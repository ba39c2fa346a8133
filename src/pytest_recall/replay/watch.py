"""Watch: the player stands before the HTTP clients as long as code of the session may call, which is past its end."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from weakref import WeakSet

from pytest_recall.replay import hook
from pytest_recall.replay.player import Player

Undo = Callable[[], None]


class Watch:
    """Puts `player` before the clients, and in a replay before the sockets, until `close` or later.

    A replay sends nothing, not even after the session: by a thread that outlives it, or by what
    it has registered with `atexit`. But the process may be somebody else's, as with `pytest.main`,
    who may connect again as soon as the session is over. Both are told apart by what began in the
    session, so that it does not matter whose process it is:
    - Threads that were not there when the session began, and are at its end, go on being refused,
      and only for their sake the patches stay of httpx and the sockets. Without any, everything is
      put back.
    - Functions of `atexit` are called from the last to the first. One that is registered at the
      end of the session and one at its beginning have those of the session between them.
    """

    def __init__(self, player: Player) -> None:
        self.player = player
        self._before: WeakSet[threading.Thread] = WeakSet(threading.enumerate())
        self._left: WeakSet[threading.Thread] = WeakSet()
        self._undo: list[Undo] = []
        self._stubs = hook.install_others(player)
        self._closed = False
        self._exiting = False
        self._told: set[str] = set()
        if player.mode == "replay":
            atexit.register(self._exited)
        self._install()

    def close(self) -> None:
        """End the session: put back what is patched, except for what it has left behind in a replay."""
        if self._closed:
            return
        self._closed = True
        _undone(self._stubs)
        if self.player.mode == "replay":
            self._left.update(set(threading.enumerate()) - set(self._before) - {threading.current_thread()})
            self.player.end(self._is_ours, self._tell)
            atexit.register(self._exit)
        if not self._left:
            self._take_back()

    def call_off(self) -> None:
        """Put everything back at once, as if there had never been a replay."""
        self._closed = True
        _undone(self._stubs)
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
        self._undo = hook.install_httpx(self.player)
        if self.player.mode == "replay":
            from pytest_recall.replay import sockets

            self._undo += sockets.guard(self.player)

    def _take_back(self) -> None:
        _undone(self._undo)

    def _tell(self, message: str) -> None:
        if message not in self._told:
            self._told.add(message)
            with suppress(AttributeError, OSError, ValueError):  # stderr may be gone by now
                print(f"recall: {message}", file=sys.stderr, flush=True)


def _undone(undo: list[Undo]) -> None:
    while undo:
        undo.pop()()


def quiet_misses(error: type[BaseException]) -> Undo:
    """Let a thread that ends by `error` end without a traceback: its sentence is told where the test is."""
    before = threading.excepthook

    def excepthook(args: threading.ExceptHookArgs) -> None:
        if not issubclass(args.exc_type, error):
            before(args)

    threading.excepthook = excepthook

    def undo() -> None:
        if threading.excepthook is excepthook:
            threading.excepthook = before

    return undo
