"""Refuse sockets in a replay, and tell of them in a recording, by the audit events of the interpreter.

These do not say everything. Data that is sent by a connected socket raises none, but to connect it does. A name that is
given to `connect` in place of an address is looked up before its event. Sockets that are not Python's raise none: those
of uvloop are asked for here, and native clients in `clients/native.py`.
"""

from __future__ import annotations

import _socket
import errno
import functools
import socket
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from pytest_recall.files.errors import MissError, RecallError
from pytest_recall.replay import audit
from pytest_recall.replay.hooks import Undo, once_imported
from pytest_recall.replay.hosts import is_address, is_this_machine
from pytest_recall.replay.origin import line_of_caller
from pytest_recall.replay.player import NO_TELEMETRY, Player
from pytest_recall.replay.tape import APART, LET_THROUGH, let_through


class Guarded(NamedTuple):
    """A player, and the names that were looked up while it was there, by each address that they have."""

    player: Player
    names: dict[str, set[str]]


_FAMILIES = (socket.AF_INET, socket.AF_INET6)
_OPENS = "recall.opens"
"""The event by which a loop says what it opens that is none of Python's own, with host and port."""
LOOKED_UP = "recall.looked_up"
"""The event that comes after a name was looked up, with its addresses."""


class _StoppedError(Exception):
    """Ends an attempt by which it is tested whether events are heard."""


def ensure_stopped() -> None:
    """Raise RecallError if a socket could connect in a replay, since its event is not heard."""
    thread = threading.get_ident()

    def stop(*_: Any) -> None:
        if threading.get_ident() == thread:
            raise _StoppedError

    unlisten = audit.listen(dict.fromkeys(_CHECKS, stop))
    try:
        missing = next((event for event, attempt in _attempts() if not _is_stopped(attempt)), None)
    finally:
        unlisten()
    if missing is not None:
        raise RecallError(
            f"no replay is possible in this process: its audit event `{missing}` does not reach pytest-recall, which"
            " so cannot keep calls from the network; use CPython, without other audit hooks that raise errors"
        )


def _attempts() -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what sends nothing even if it is not stopped, each with its event."""
    place = ("127.0.0.1", 0)
    yield "socket.getaddrinfo", lambda: _socket.getaddrinfo(*place)
    yield "socket.gethostbyname", lambda: _socket.gethostbyname(place[0])
    try:
        sock = _socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    except OSError:
        return  # Nobody has sockets here.
    try:
        yield "socket.connect", lambda: sock.connect(place)
        yield "socket.sendto", lambda: sock.sendto(b"", place)
    finally:
        sock.close()


def _is_stopped(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except _StoppedError:
        return True
    except Exception:
        return False
    return False


def guard(player: Player) -> list[Undo]:
    """Refuse connections in a replay, except to hosts that the player ignores and for live calls; else tell of them.

    What is told is what a replay would refuse.
    """
    guarded = Guarded(player, {})
    undo = [audit.listen({event: functools.partial(check, guarded) for event, check in _CHECKS.items()})]
    undo += announce_names()
    undo.append(_put(socket, "socketpair", let_through(player)))  # On Windows it connects one end to the other.
    # So does this one; refused, it would leave a pool behind that answers nobody.
    tpool = ("eventlet.tpool",)
    undo.append(once_imported(tpool, lambda module: undo.append(_put(module, "setup", let_through(player)))))
    undo.append(once_imported(("uvloop",), lambda module: undo.extend(patch_uvloop(module))))
    return undo


def announce_names() -> list[Undo]:
    """Raise the event `LOOKED_UP` from now on. What is returned takes it back."""
    return [_put(socket, name, functools.partial(_noting, addresses)) for name, addresses in _LOOK_UPS.items()]


_LOOK_UPS: Mapping[str, Callable[[Any], Iterable[str]]] = {
    "getaddrinfo": lambda found: (str(place[0]) for *_, place in found),
    "gethostbyname": lambda found: (found,),
    "gethostbyname_ex": lambda found: found[2],
}
"""The functions that ask a server of names, with the addresses in what they return."""


def _put(module: ModuleType, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Undo:
    """Let a module have another function, by which nothing is refused: that may be taken out."""
    original = getattr(module, name)
    ours = wrap(original)
    setattr(module, name, ours)

    def undo() -> None:
        if getattr(module, name) is ours:
            setattr(module, name, original)

    return undo


def _noting(addresses: Callable[[Any], Iterable[str]], resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with an event for its addresses, as the interpreter has none."""

    @functools.wraps(resolve)
    def look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        found = resolve(host, *args, **kwargs)
        sys.audit(LOOKED_UP, host, tuple(addresses(found)))
        return found

    return look_up


def _looked_up(guarded: Guarded, host: Any, addresses: Iterable[str]) -> None:
    name = _text(host)
    if name and not is_address(name):
        for address in addresses:
            guarded.names.setdefault(address, set()).add(name)


def _looks_up(guarded: Guarded, host: Any, port: Any = None, *_: Any) -> None:
    player = guarded.player
    name = _text(host)
    if _is_known(name) or player.mode != "replay" or _is_let_through(player) or player.may_connect(name, port):
        return
    if player.leaves_aside(name, port):
        raise socket.gaierror(socket.EAI_NONAME, NO_TELEMETRY)
    error = player.refuse_socket(name if port is None else f"{name}:{port}")
    raise socket.gaierror(socket.EAI_NONAME, str(error)) if _is_beside(player, error) else error


def _connects(guarded: Guarded, sock: Any, address: Any) -> None:
    # A message that is sent by a connected socket has no address.
    if address is None or sock.family not in _FAMILIES:
        return
    _opens(guarded, _text(address[0]), address[1], sock.close)


def _opens(guarded: Guarded, host: str, port: Any, close: Callable[[], object] = lambda: None) -> None:
    player = guarded.player
    names = [*guarded.names.get(host, ()), host]
    if _is_let_through(player) or player.is_handed(host, port):
        return
    if (ignored := next((name for name in names if player.ignores(name, port)), None)) is not None:
        player.notice_ignored(ignored, port)
        return
    if player.may_connect(host, port):
        return
    if player.mode != "replay":
        player.notice_socket(names[0], port, line_of_caller())
        return
    if player.leaves_aside(host, port):
        # As where nobody listens, also for a datagram: clients of statsd go on without a word.
        raise ConnectionRefusedError(errno.ECONNREFUSED, NO_TELEMETRY)
    close()  # MissError is no Exception, after which the caller would close it.
    error = player.refuse_socket(f"{host}:{port}")
    raise ConnectionRefusedError(errno.ECONNREFUSED, str(error)) if _is_beside(player, error) else error


def _is_let_through(player: Player) -> bool:
    return player in LET_THROUGH.get() or APART.get()


def _is_beside(player: Player, error: BaseException) -> bool:
    """Whether the miss `error` would end a thread of which no case hears, and for which others may wait."""
    return isinstance(error, MissError) and player.is_beside()


def _is_known(name: str) -> bool:
    """Return whether a host is known without a server of names: an address, or this machine by a name of its own."""
    return name == "" or is_address(name) or is_this_machine(name) or name.lower() == socket.gethostname().lower()


def _text(host: Any) -> str:
    return host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else str(host or "")


_CHECKS: Mapping[str, Callable[..., None]] = {
    "socket.connect": _connects,
    "socket.getaddrinfo": _looks_up,
    "socket.gethostbyaddr": _looks_up,
    "socket.gethostbyname": _looks_up,
    "socket.sendmsg": _connects,
    "socket.sendto": _connects,
    _OPENS: _opens,
    LOOKED_UP: _looked_up,
}


def patch_uvloop(module: ModuleType) -> list[Undo]:
    """Let the loop of uvloop say what it opens, which raises no event. What is returned takes it back."""
    loop: Any = module.Loop
    if "create_connection" in vars(loop):
        return []

    async def create_connection(
        self: Any, protocol_factory: Any, host: Any = None, port: Any = None, **kwargs: Any
    ) -> Any:
        if host is not None:
            sys.audit(_OPENS, _text(host), port)
        return await super(loop, self).create_connection(protocol_factory, host, port, **kwargs)

    async def create_datagram_endpoint(
        self: Any, protocol_factory: Any, local_addr: Any = None, remote_addr: Any = None, **kwargs: Any
    ) -> Any:
        # Its transport can be given other addresses later, of which nothing is known.
        place = remote_addr or local_addr
        if isinstance(place, tuple):
            sys.audit(_OPENS, _text(place[0]), place[1])
        return await super(loop, self).create_datagram_endpoint(protocol_factory, local_addr, remote_addr, **kwargs)

    async def getaddrinfo(self: Any, host: Any, port: Any, **kwargs: Any) -> Any:
        sys.audit("socket.getaddrinfo", host, port)
        found = await super(loop, self).getaddrinfo(host, port, **kwargs)
        sys.audit(LOOKED_UP, host, tuple(_LOOK_UPS["getaddrinfo"](found)))
        return found

    ours: Collection[Callable[..., Any]] = (create_connection, create_datagram_endpoint, getaddrinfo)
    for function in ours:
        setattr(loop, function.__name__, function)
    return [functools.partial(delattr, loop, function.__name__) for function in ours]
