"""The guard of the tests themselves: no connection leaves this machine."""

from __future__ import annotations

import socket

import pytest


@pytest.mark.parametrize("connect", ["connect", "connect_ex"])
@pytest.mark.parametrize("address", ["192.0.2.1", "example.invalid"])
def test_a_connection_elsewhere_is_refused(connect: str, address: str) -> None:
    with socket.socket() as client, pytest.raises(RuntimeError, match=f"a test wants to connect to {address}"):
        getattr(client, connect)((address, 80))


def test_this_machine_can_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        connection, _ = server.accept()
        connection.close()
