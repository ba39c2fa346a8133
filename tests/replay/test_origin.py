"""Whose code makes a call: the session's, a plugin's, or a package's as it is imported."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pluggy
import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import origin, watch
from pytest_recall.replay.player import Player

CONNECTS = "import socket\n\ndef connect(address):\n    return socket.create_connection(address)\n"
FETCHES = """\
import urllib.request

try:
    urllib.request.urlopen("http://127.0.0.1:{port}/prices")
except OSError as error:
    WHY = error
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules count as installed packages."""
    monkeypatch.setattr(origin, "_FOLDERS", (*origin._FOLDERS, str(tmp_path)))
    monkeypatch.syspath_prepend(tmp_path)
    origin._is_library.cache_clear()
    before = set(sys.modules)
    yield tmp_path
    origin._is_library.cache_clear()
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """A socket that listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def player() -> Iterator[Player]:
    """A player that replays, before the clients and the sockets."""
    playing = Player("replay")
    undo = [*watch.install(playing), *watch.guard(playing)]
    yield playing
    for back in reversed(undo):
        back()


def test_the_hook_of_a_plugin_may_connect(player: Player, server: socket.socket, installed: Path) -> None:
    (installed / "reporting.py").write_text(CONNECTS)
    reporting: Any = importlib.import_module("reporting")
    spec, impl = pluggy.HookspecMarker("p"), pluggy.HookimplMarker("p")

    class Specs:
        @spec
        def report(self, address: Any) -> None: ...

    manager = pluggy.PluginManager("p")
    manager.add_hookspecs(Specs)
    reporting.report = impl(reporting.connect)
    manager.register(reporting)
    [connection] = manager.hook.report(address=server.getsockname())
    connection.close()
    assert player.strays == []


def test_an_installed_agent_may_not(player: Player, server: socket.socket, installed: Path) -> None:
    (installed / "agent.py").write_text(CONNECTS)
    agent: Any = importlib.import_module("agent")
    with pytest.raises(MissError):
        agent.connect(server.getsockname())

    async def in_a_task() -> None:
        await asyncio.get_running_loop().create_task(asyncio.to_thread(agent.connect, server.getsockname()))

    with pytest.raises(MissError):
        asyncio.run(in_a_task())
    raised: list[BaseException] = []

    def in_a_thread() -> None:
        try:
            agent.connect(server.getsockname())
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert [type(error) for error in raised] == [ConnectionRefusedError]
    # What a thread of its own does outside of any case is none of the cases' business.
    assert (len(player.strays), sum(player.aside.values())) == (2, 1)


def test_a_package_that_fetches_as_it_is_imported_finds_no_network(
    player: Player, server: socket.socket, installed: Path
) -> None:
    (installed / "prices.py").write_text(FETCHES.format(port=server.getsockname()[1]))
    prices: Any = importlib.import_module("prices")
    assert "nothing is sent in a replay" in str(prices.WHY)
    assert player.strays == []
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.accept()


def test_a_module_of_the_project_that_does_is_refused(
    player: Player, server: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_prices.py").write_text(FETCHES.format(port=server.getsockname()[1]))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissError):
        importlib.import_module("own_prices")
    assert len(player.strays) == 1


def test_the_pair_of_sockets_that_windows_makes_is_let_alone(player: Player) -> None:
    source = (
        "def _fallback_socketpair():\n"
        "    with socket.create_server(('127.0.0.1', 0)) as listening:\n"
        "        one = socket.socket()\n"
        "        one.connect(listening.getsockname())\n"
        "        return one, listening.accept()[0]\n"
    )
    made: dict[str, Any] = {"socket": socket, "__name__": "socket"}
    exec(compile(source, socket.__file__, "exec"), made)
    for end in made["_fallback_socketpair"]():
        end.close()
    assert player.strays == []
