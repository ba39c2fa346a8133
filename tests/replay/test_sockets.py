"""Sockets: none opens in a replay, anyone who wants one."""

from __future__ import annotations

import asyncio
import socket
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import watch
from pytest_recall.replay.player import Player
from tests.replay.test_tape import tape_of


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def player(request: pytest.FixtureRequest) -> Iterator[Player]:
    """A player that replays, with its guard; the parameter is a host that is let alone."""
    playing = Player("replay", {"judge": "live"}, ignored=[getattr(request, "param", "elsewhere")])
    undo = watch.guard(playing)
    yield playing
    for back in reversed(undo):
        back()


def test_a_connection_is_refused_and_its_socket_closed(player: Player, server: socket.socket) -> None:
    address = server.getsockname()
    client = socket.socket()
    with pytest.raises(MissError, match=rf"a connection to 127.0.0.1:{address[1]} would open"):
        client.connect(address)
    assert client.fileno() == -1
    assert len(player.strays) == 1


def test_it_is_refused_however_it_is_asked_for(player: Player, server: socket.socket) -> None:
    host, port = server.getsockname()

    async def opened() -> None:
        await asyncio.open_connection(host, port)

    with pytest.raises(MissError):
        socket.create_connection((host, port))
    with pytest.raises(MissError):
        asyncio.run(opened())
    with pytest.raises(MissError):
        urllib.request.urlopen(f"http://{host}:{port}/")
    with pytest.raises(MissError), socket.socket() as client:
        client.connect_ex((host, port))
    assert len(player.strays) == 4


def test_a_thread_is_refused_as_well_and_the_test_answers_for_it(
    player: Player, server: socket.socket, tmp_path: Path
) -> None:
    raised: list[BaseException] = []

    def connect() -> None:
        try:
            socket.create_connection(server.getsockname())
        except BaseException as error:
            raised.append(error)

    tape = tape_of(tmp_path)
    with player.playing(tape):
        thread = threading.Thread(target=connect)
        thread.start()
        thread.join()
    # An exception that no agent expects would end a thread for which other cases wait.
    assert [type(error) for error in raised] == [ConnectionRefusedError]
    assert len(tape.misses) == 1


def test_a_live_call_may_connect(player: Player, server: socket.socket) -> None:
    with player.asking("judge"), socket.create_connection(server.getsockname()):
        pass


@pytest.mark.parametrize("player", ["127.0.0.1", "localhost"], indirect=True)
def test_an_ignored_host_may_be_connected_to(player: Player, server: socket.socket) -> None:
    with socket.create_connection(server.getsockname()):
        pass
    assert player.strays == []


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch, server: socket.socket) -> list[str]:
    """The names that are looked up, all of which are this server's."""
    found: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: str, *args: int, **kwargs: int) -> list[tuple[object, ...]]:
        found.append(host)
        return list(real("127.0.0.1", *args, **kwargs))

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return found


def test_no_name_is_looked_up(looked_up: list[str], player: Player, server: socket.socket) -> None:
    async def opened() -> None:
        await asyncio.open_connection("api.example", 443)

    with pytest.raises(MissError, match=r"a connection to api\.example:443 would open"):
        socket.create_connection(("api.example", 443))
    with pytest.raises(socket.gaierror, match=r"a connection to api\.example:443 would open"):
        asyncio.run(opened())  # It is looked up by a thread.
    with pytest.raises(MissError, match=f"a connection to 127.0.0.1:{server.getsockname()[1]} would open"):
        socket.create_connection(("localhost", server.getsockname()[1]))
    assert looked_up == ["localhost"]


@pytest.mark.parametrize("function", ["gethostbyname", "gethostbyname_ex"])
def test_no_name_is_looked_up_by_itself(player: Player, function: str) -> None:
    with pytest.raises(MissError, match=r"a connection to api\.example would open"):
        getattr(socket, function)("api.example")
    assert getattr(socket, function)("127.0.0.1")
    assert player.strays != []


@pytest.mark.parametrize("player", ["metrics.example:443"], indirect=True)
def test_the_name_of_an_ignored_host_is_looked_up(looked_up: list[str], player: Player) -> None:
    assert player.ignores("metrics.example", None)
    assert not player.ignores("metrics.example", 80)
    assert not player.ignores("metrics", None)
    assert socket.getaddrinfo("metrics.example", None)
    assert (looked_up, player.strays) == (["metrics.example"], [])


@pytest.mark.parametrize("player", ["metrics.example"], indirect=True)
def test_an_ignored_host_is_looked_up_and_connected_to(
    looked_up: list[str], player: Player, server: socket.socket
) -> None:
    with socket.create_connection(("metrics.example", server.getsockname()[1])):
        pass
    assert (looked_up, player.strays) == (["metrics.example"], [])


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets of this kind here")
def test_what_stays_on_the_machine_is_let_alone(player: Player) -> None:
    one, other = socket.socketpair()
    with one, other:
        one.sendall(b"x")
        assert other.recv(1) == b"x"
    assert player.strays == []


@pytest.mark.parametrize("guarded", [False, True])
def test_afterwards_all_is_as_it_was(monkeypatch: pytest.MonkeyPatch, guarded: bool) -> None:
    if guarded:
        monkeypatch.setattr(socket.socket, "connect", lambda self, address: None)
    else:
        monkeypatch.undo()
    before, resolves = dict(vars(socket.socket)), socket.getaddrinfo
    undo = watch.guard(Player("replay"))
    assert dict(vars(socket.socket)) != before
    for back in reversed(undo):
        back()
    assert dict(vars(socket.socket)) == before
    assert socket.getaddrinfo is resolves


def test_a_connection_for_telemetry_finds_no_network_and_is_no_miss(player: Player) -> None:
    with pytest.raises(socket.gaierror, match="nothing is sent in a replay"):
        socket.create_connection(("i.posthog.com", 443))
    assert player.strays == []
    assert player.telemetry_calls == {"i.posthog.com": 1}
    recording = Player("record")
    recording.notice_socket("i.posthog.com", 443, "agent.py:1")
    assert recording.strays == []
    recording.notice_socket("db.example", 5432, "")
    assert "a connection to db.example:5432 was made at a line that is not known" in recording.strays[0]
