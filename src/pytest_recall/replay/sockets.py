"""Sockets: an agent or a judge opens none in a replay, in whichever thread, unless to an allowed host."""

from __future__ import annotations

import errno
import functools
import socket
from collections.abc import Callable
from typing import Any

from pytest_recall.replay.origin import origin
from pytest_recall.replay.player import IMPORTED, Player

Undo = Callable[[], None]


def guard(player: Player) -> list[Undo]:
    """Refuse connections that the session's code opens, except to hosts that the player ignores and for live calls.

    What a package opens as it is imported fails as if there was no network, which it has to expect.
    """

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or player.may_connect(str(address[0]), address[1]):
            return
        whose = origin()
        if whose in ("plugin", "pair"):
            return
        sock.close()  # MissError is no Exception, after which the caller would close it.
        if whose == "import":
            raise ConnectionRefusedError(errno.ECONNREFUSED, IMPORTED)
        raise player.refuse_socket(f"{address[0]}:{address[1]}")

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


def _checked(original: Callable[..., Any], check: Callable[[socket.socket, Any], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def connect(self: socket.socket, address: Any) -> Any:
        check(self, address)
        return original(self, address)

    return connect
