"""Sockets: none opens in a replay, anyone who wants one."""

from __future__ import annotations

import _socket
import asyncio
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import sockets
from pytest_recall.replay.hooks import carry
from pytest_recall.replay.open_tapes import carried
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import let_through
from pytest_recall.replay.watch import install
from tests.replay.http_clients import by_aiohttp, by_stdlib, by_urllib3
from tests.replay.test_tape import tape_of


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@contextmanager
def guarding(player: Player) -> Iterator[None]:
    """Guard sockets in this block."""
    undo = sockets.guard(player)
    try:
        yield
    finally:
        while undo:
            undo.pop()()


@pytest.fixture
def player(request: pytest.FixtureRequest) -> Iterator[Player]:
    """A player that replays, with its guard; the parameter is a host that is let alone."""
    playing = Player("replay", {"judge": "live"}, ignored=[getattr(request, "param", "elsewhere")])
    with guarding(playing):
        yield playing


def test_a_connection_is_refused_and_its_socket_closed(player: Player, server: socket.socket) -> None:
    address = server.getsockname()
    client = socket.socket()
    with pytest.raises(MissError, match=rf"a connection to 127.0.0.1:{address[1]} would open"):
        client.connect(address)
    assert client.fileno() == -1
    assert len(player.strays) == 1


def _by_httpx(url: str) -> None:
    httpx2.get(url)


def _by_async_httpx(url: str) -> None:
    async def get() -> None:
        async with httpx2.AsyncClient() as client:
            await client.get(url)

    asyncio.run(get())


@pytest.mark.parametrize(
    "get",
    [
        lambda url: by_stdlib(url, b"{}"),
        lambda url: by_urllib3(url, b"{}"),
        lambda url: by_aiohttp(url, b"{}"),
        _by_httpx,
        _by_async_httpx,
    ],
    ids=["stdlib", "urllib3", "aiohttp", "httpx", "async httpx"],
)
def test_a_session_lets_nobody_past_the_guard_of_another(server: socket.socket, get: Callable[[str], object]) -> None:
    """Such as one that is over, for what it has left behind: the clients may still be patched for its sake."""
    over, guarded = Player("replay"), Player("replay")
    undo = install(over)
    over.end(lambda: False, lambda message: None)
    host, port = server.getsockname()
    try:
        with guarding(guarded), pytest.raises((MissError, BaseExceptionGroup)):  # anyio makes a group of one error.
            get(f"http://{host}:{port}/")
    finally:
        while undo:
            undo.pop()()
    assert len(guarded.strays) == 1


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


def test_no_name_is_looked_up_but_this_machines_own(player: Player, server: socket.socket) -> None:
    async def opened() -> None:
        await asyncio.open_connection("api.example", 443)

    with pytest.raises(MissError, match=r"a connection to api\.example:443 would open"):
        socket.create_connection(("api.example", 443))
    with pytest.raises(socket.gaierror, match=r"a connection to api\.example:443 would open"):
        asyncio.run(opened())  # It is looked up by a thread.
    with pytest.raises(MissError, match=f"a connection to 127.0.0.1:{server.getsockname()[1]} would open"):
        socket.create_connection(("localhost", server.getsockname()[1]))


@pytest.mark.parametrize("function", ["gethostbyname", "gethostbyname_ex", "gethostbyaddr"])
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
def test_what_stays_on_the_machine_is_let_alone(player: Player, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as client:
        listening.bind(os.path.relpath(tmp_path / "s"))
        listening.listen()
        client.connect(listening.getsockname())
    assert player.strays == []


def test_a_pair_of_sockets_is_let_alone_also_where_one_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""

    def socketpair() -> tuple[socket.socket, socket.socket]:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            one = socket.create_connection(listening.getsockname())
            return one, listening.accept()[0]

    monkeypatch.setattr(socket, "socketpair", socketpair)
    playing = Player("replay")
    with guarding(playing):
        for end in socket.socketpair():
            end.close()
    assert playing.strays == []
    assert socket.socketpair is socketpair


def test_a_call_that_the_player_has_let_through_may_connect_also_from_an_executor(server: socket.socket) -> None:
    playing = Player("replay")
    with guarding(playing), let_through(playing):
        socket.create_connection(server.getsockname()).close()

        async def opened() -> None:
            _, writer = await asyncio.open_connection("localhost", server.getsockname()[1], family=socket.AF_INET)
            writer.close()

        asyncio.run(opened())
        undo = carry(carried)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(socket.create_connection, server.getsockname()).result().close()
        for back in undo:
            back()
    assert playing.strays == []


def test_a_port_of_this_machine_that_the_process_was_handed_may_be_connected_to(server: socket.socket) -> None:
    playing = Player("replay")
    playing.hand(lambda: ["127.0.0.1", {}, server.getsockname()[1]])
    with guarding(playing):
        socket.create_connection(server.getsockname()).close()
        with pytest.raises(MissError):
            _socket.socket().connect(("198.51.100.7", server.getsockname()[1]))
        with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(MissError):
            socket.create_connection(other.getsockname())


class Blocking(socket.socket):
    """What plugins put in place of the class."""


@pytest.mark.parametrize(
    "connect",
    [
        socket.create_connection,
        _socket.socket(socket.AF_INET, socket.SOCK_STREAM).connect,
        partial(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto, b"x"),
        partial(socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendmsg, [b"x"], [], 0),
    ],
    ids=["class", "beneath", "datagram", "message"],
)
def test_no_other_function_or_class_leads_past_it(
    connect: Callable[[Any], Any], player: Player, server: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket.socket, "connect", socket.socket.connect, raising=False)
    monkeypatch.setattr(socket, "socket", Blocking)
    with pytest.raises(MissError):
        connect(server.getsockname())
    assert len(player.strays) == 1
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.accept()


def test_afterwards_all_is_as_it_was(server: socket.socket) -> None:
    before = dict(vars(socket))
    with guarding(Player("replay")):
        pass
    assert dict(vars(socket)) == before
    socket.create_connection(server.getsockname()).close()


@pytest.mark.parametrize("refused", ["sys.addaudithook", "socket.connect"])
def test_where_the_hook_hears_nothing_there_is_no_replay(refused: str) -> None:
    """In a process of its own, as no hook can be taken away; here another one is there before ours."""
    source = f"""
import sys

def refuse(event, args):
    if event == {refused!r}:
        raise RuntimeError(event)

sys.addaudithook(refuse)
from pytest_recall.files.errors import RecallError
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch
try:
    Watch(Player("replay"))
except RecallError as error:
    print(error)
Watch(Player("record")).close()
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("no replay is possible in this process: its audit event `socket.")


@pytest.mark.parametrize("way", ["let through", "ignored", "handed", "its own names", "another"])
def test_a_recording_tells_of_what_a_replay_would_refuse(way: str, server: socket.socket) -> None:
    port = server.getsockname()[1]
    recording = Player("record", ignored=["localhost"] if way == "ignored" else [])
    recording.hand(lambda: [port] if way == "handed" else [])
    with guarding(recording), let_through(recording) if way == "let through" else nullcontext():
        if way == "its own names":
            socket.getaddrinfo("localhost", port)
        else:
            socket.create_connection(("localhost", port)).close()
    if way == "another":
        [line] = recording.strays
        assert f"a connection to localhost:{port} was made at " in line
        assert re.search(r"at \S+\.py:\d+, and", line)
    else:
        assert recording.strays == []


def test_the_two_ends_of_the_pool_of_eventlet_are_connected(tmp_path: Path) -> None:
    """In a process of its own, with what `eventlet.tpool` does in its place."""
    (tmp_path / "eventlet").mkdir()
    (tmp_path / "eventlet" / "__init__.py").touch()
    (tmp_path / "eventlet" / "tpool.py").write_text(
        "import socket\n\n"
        "def setup():\n"
        "    with socket.socket() as listening, socket.socket() as connected:\n"
        "        listening.bind(('127.0.0.1', 0))\n"
        "        listening.listen(1)\n"
        "        connected.connect(listening.getsockname())\n"
    )
    source = """
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch
for mode in ("record", "replay"):
    player = Player(mode)
    watch = Watch(player)
    import eventlet.tpool
    eventlet.tpool.setup()
    print(player.strays)
    watch.call_off()
print(eventlet.tpool.setup.__module__, eventlet.tpool.setup.__code__.co_name)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split("\n") == ["[]", "[]", "eventlet.tpool setup", ""]


def test_uvloop_is_asked_for_what_it_opens(server: socket.socket) -> None:
    """In a process of its own, where nothing else has imported it."""
    pytest.importorskip("uvloop")
    source = f"""
import asyncio, socket
from pytest_recall.files.errors import MissError
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch
player = Player("replay", ignored=["ignored.localhost"])
watch = Watch(player)
import uvloop

async def main():
    loop, port = asyncio.get_running_loop(), {server.getsockname()[1]}
    sock = socket.socket()
    sock.setblocking(False)
    for opening in (
        asyncio.open_connection("127.0.0.1", port),
        loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=("127.0.0.1", port)),
        loop.create_datagram_endpoint(asyncio.DatagramProtocol, local_addr=("127.0.0.1", 0)),
        loop.getaddrinfo("api.example", port),
        loop.sock_connect(sock, ("127.0.0.1", port)),
    ):
        try:
            await opening
        except MissError:
            print("missed")
    await loop.getaddrinfo("127.0.0.1", port)

uvloop.run(main())
watch.close()
print(len(player.strays))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*["missed"] * 5, "5"], done.stderr


def test_a_connection_for_telemetry_finds_no_network_and_is_no_miss(player: Player) -> None:
    with pytest.raises(socket.gaierror, match="nothing is sent in a replay"):
        socket.create_connection(("i.posthog.com", 443))
    assert player.strays == []
    assert player.telemetry_calls == {"i.posthog.com": 1}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as metrics:
        for _ in range(2):  # The socket is not closed, as one of statsd is kept.
            with pytest.raises(ConnectionRefusedError, match="nothing is sent in a replay"):
                metrics.sendto(b"asked:1|c", ("127.0.0.1", 8125))
    assert (player.strays, player.telemetry_calls["127.0.0.1"]) == ([], 2)
    recording = Player("record")
    recording.notice_socket("127.0.0.1", 8125, "agent.py:1")
    recording.notice_socket("i.posthog.com", 443, "agent.py:1")
    assert recording.strays == []
    recording.notice_socket("db.example", 5432, "")
    assert "a connection to db.example:5432 was made at a line that is not known" in recording.strays[0]
