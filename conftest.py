"""The tests of the project: pytester, and no network."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

pytest_plugins = "pytester"
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """Refuse every connection that leaves this machine."""

    def refusing(original: Any) -> Any:
        def connect(self: socket.socket, address: Any) -> Any:
            if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
                raise RuntimeError(f"a test wants to connect to {address[0]}; tests use no network")
            return original(self, address)

        return connect

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, refusing(getattr(socket.socket, name)))
        yield
