"""Sockets: none opens in a replay, in whichever thread, unless a live call or an allowed host needs it."""

from __future__ import annotations

import functools
import socket
from collections.abc import Callable
from typing import Any

from pytest_recall.replay.player import Player

Undo = Callable[[], None]


def guard(player: Player) -> list[Undo]:
    """Refuse connections of this process, except to hosts that the player ignores and for live calls."""

    def check(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6) and not player.may_connect(str(address[0]), address[1]):
            sock.close()  # What is raised is no Exception, which whoever opened it would close it after.
            raise player.refuse_socket(f"{address[0]}:{address[1]}")

    undo: list[Undo] = []
    for name in ("connect", "connect_ex"):
        original = getattr(socket.socket, name)
        # They are inherited from the C class, and are so again afterwards, unless somebody guards them too.
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
