"""Watch HTTP clients as they are imported, and refuse sockets in a replay."""

from __future__ import annotations

import atexit
import errno
import functools
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from types import FrameType, ModuleType
from typing import Any
from weakref import WeakSet

from pytest_recall.files.errors import MissError
from pytest_recall.replay.hooks import Undo, carry, once_imported
from pytest_recall.replay.hosts import is_address, is_this_machine
from pytest_recall.replay.origin import in_known_client, line_of_caller, origin
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import APART, LET_THROUGH
from pytest_recall.replay.unrecorded import watch_unrecorded


def guard(player: Player) -> list[Undo]:
    """Refuse connections that the session's code opens, except to hosts that the player ignores and for live calls.

    Nor is the name of a host looked up for one, which would be sent to a server of names. What a package opens as it
    is imported fails as if there was no network, which it has to expect.
    """
    ignored: set[str] = set()

    def may_look_up(name: str, port: Any) -> None:
        if player.may_connect(name, port) or (whose := origin()) in ("plugin", "pair"):
            return
        if whose == "import":
            raise socket.gaierror(socket.EAI_NONAME, _IMPORTED)
        if player.leaves_aside(name, port):
            raise socket.gaierror(socket.EAI_NONAME, _TELEMETRY)
        error = player.refuse_socket(name if port is None else f"{name}:{port}")
        raise socket.gaierror(socket.EAI_NONAME, str(error)) if _is_beside(player, error) else error

    def looking_up(resolve: Callable[..., Any], addresses: Callable[[Any], Iterable[str]]) -> Callable[..., Any]:
        @functools.wraps(resolve)
        def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
            name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
            if not isinstance(name, str) or _is_known(name):
                return resolve(host, *args, **kwargs)
            port = kwargs.get("port", args[0] if args else None)
            may_look_up(name, port)
            found = resolve(host, *args, **kwargs)
            if player.ignores(name, port):
                ignored.update(addresses(found))
            return found

        return look_up

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or str(address[0]) in ignored:
            return
        if player.may_connect(str(address[0]), address[1]):
            return
        whose = origin()
        if whose in ("plugin", "pair"):
            return
        sock.close()  # MissError is no Exception, after which the caller would close it.
        if whose == "import":
            raise ConnectionRefusedError(errno.ECONNREFUSED, _IMPORTED)
        if player.leaves_aside(str(address[0]), address[1]):
            raise ConnectionRefusedError(errno.ECONNREFUSED, _TELEMETRY)
        error = player.refuse_socket(f"{address[0]}:{address[1]}")
        raise ConnectionRefusedError(errno.ECONNREFUSED, str(error)) if _is_beside(player, error) else error

    undo: list[Undo] = []
    for function, addresses in _LOOK_UPS.items():
        resolve = getattr(socket, function)
        undo.append(functools.partial(setattr, socket, function, resolve))
        setattr(socket, function, looking_up(resolve, addresses))
    return [*undo, *_before_connecting(check)]


_LOOK_UPS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "getaddrinfo": lambda found: (str(place[0]) for *_, place in found),
    "gethostbyname": lambda found: (found,),
    "gethostbyname_ex": lambda found: found[2],
}
"""The functions that ask a server of names, with the addresses in what they return."""


_TELEMETRY = "nothing is sent in a replay, and this host takes telemetry"
_IMPORTED = "nothing is sent in a replay, not by a package as it is imported either"


def _is_beside(player: Player, error: BaseException) -> bool:
    """Whether the miss `error` would end a thread of which no case hears, and for which others may wait."""
    return isinstance(error, MissError) and player.is_beside()


def _before_connecting(check: Callable[[socket.socket, Any], None]) -> list[Undo]:
    undo: list[Undo] = []
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)
        # They are inherited from the C class, and are so again afterwards, unless someone guards them too.
        if name in vars(socket.socket):
            undo.append(functools.partial(setattr, socket.socket, name, original))
        else:
            undo.append(functools.partial(delattr, socket.socket, name))
        setattr(socket.socket, name, _checked(original, check))
    return undo


def notice(player: Player) -> list[Undo]:
    """Tell of connections of the session's code that belong to no recorded call: a replay would refuse them."""
    names: dict[str, str] = {}
    resolve = socket.getaddrinfo

    def look_up(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        found = resolve(host, port, *args, **kwargs)
        # Another thread may look up the address itself, between this and the connection.
        if isinstance(host, str) and not is_address(host):
            names.update((str(place[0]), host) for *_, place in found)
        return found

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or LET_THROUGH.get() or APART.get():
            return
        place, port = str(address[0]), address[1]
        if any(player.may_connect(name, port) for name in (place, names.get(place, place))):
            return
        if origin() == "session" and not in_known_client():
            player.notice_socket(names.get(place, place), port, line_of_caller())

    socket.getaddrinfo = look_up
    return [functools.partial(setattr, socket, "getaddrinfo", resolve), *_before_connecting(check)]


def _is_known(name: str) -> bool:
    """Return whether a host is known without a server of names: an address, or this machine by a name of its own."""
    return name == "" or is_address(name) or is_this_machine(name) or name.lower() == socket.gethostname().lower()


def _checked(original: Callable[..., Any], check: Callable[[socket.socket, Any], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def connect(self: socket.socket, address: Any) -> Any:
        check(self, address)
        return original(self, address)

    return connect


HTTPX_FAMILY = ("httpx2", "httpx", "httpcore2", "httpcore")
"""The clients, and what they send by: a client imports that late."""


LM15 = tuple(
    f"{package}.transports.{name}" for package in ("lm15", "dspy._vendor.lm15") for name in ("_sync", "_async")
)
"""The transports of lm15, and of DSPy's copy of it."""


def install(player: Player) -> list[Undo]:
    """Patch the clients that are loaded, and each other one as soon as an agent imports it.

    What is returned takes it back, called from the last to the first; it grows with what is imported.
    """
    return install_own(player, install_others(player))


def install_others(player: Player) -> list[Undo]:
    """Patch the clients that vcrpy knows, if anything is done with their calls."""
    if player.mode == "off" and player.limits is None and player.batches is None and not player.listens:
        return []
    from pytest_recall.replay.clients import vcr_stubs

    return vcr_stubs.install(player)


def install_own(player: Player, undo: list[Undo] | None = None) -> list[Undo]:
    """Patch the clients with hooks of our own alone, which can be done once more above what is patched already."""
    undo = [] if undo is None else undo
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

    undo.append(once_imported(HTTPX_FAMILY, patch))
    undo.append(once_imported(("aiohttp.client",), patch_aiohttp))
    undo.append(once_imported(LM15, patch_lm15))
    return undo


class Watch:
    """Puts `player` before the clients, and in a replay before the sockets, until `close` or later.

    A replay sends nothing, not even after the session: by a thread that outlives it, or by what
    it has registered with `atexit`. But the process may be someone else's, as with `pytest.main`,
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
        self._stubs = [*install_others(player), *listen(player.check_waits)]
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
        self._undo = [*install_own(self.player), *carry(self.player.carried)]
        if self.player.mode != "off":
            watch_unrecorded(self.player, self._undo)
        if self.player.mode == "replay":
            self._undo += guard(self.player)
        elif self.player.mode != "off":
            self._undo += notice(self.player)

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


def quiet_misses(player: Player) -> Undo:
    """Let a thread that ends by a miss end without a traceback: its sentence is told where the test is."""
    before = threading.excepthook

    def excepthook(args: threading.ExceptHookArgs) -> None:
        if not player.ended(args.thread, args.exc_type):
            before(args)

    threading.excepthook = excepthook

    def undo() -> None:
        if threading.excepthook is excepthook:
            threading.excepthook = before

    return undo


def listen(check: Callable[[FrameType | None], None]) -> list[Undo]:
    """Have `check` called with the frame in the main thread whenever that is interrupted; return how to take it back.

    The signal is SIGURG, which processes ignore, so that one which comes late does nothing.
    """
    if not hasattr(signal, "pthread_kill") or threading.current_thread() is not threading.main_thread():
        return []
    before = signal.getsignal(signal.SIGURG)
    if before is None:
        return []  # A handler that is none of Python's could not be put back.
    signal.signal(signal.SIGURG, lambda number, frame: check(frame))
    return [lambda: _listen_no_more(before)]


def _listen_no_more(before: signal.Handlers | Callable[..., object] | int) -> None:
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGURG, before)
