"""Whose code makes a call: the session's, a plugin's, or a package's as it is imported."""

from __future__ import annotations

import asyncio
import importlib
import socket
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pluggy
import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay import origin, watch
from pytest_recall.replay.exchange import Request
from pytest_recall.replay.player import Player

CONNECTS = "import socket\n\ndef connect(address):\n    return socket.create_connection(address)\n"
FETCHES = """\
import urllib.request

try:
    urllib.request.urlopen("http://127.0.0.1:{port}/prices")
except OSError as error:
    WHY = error
"""


CONNECTS_AT_IMPORT = """\
import socket

try:
    socket.create_connection(("127.0.0.1", {port}))
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
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
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


def reported(installed: Path, source: str, what: Any) -> Any:
    """Return what the function `report` of an installed plugin with this source makes of something."""
    (installed / "reporting.py").write_text(source)
    reporting: Any = importlib.import_module("reporting")
    spec, impl = pluggy.HookspecMarker("p"), pluggy.HookimplMarker("p")

    class Specs:
        @spec
        def report(self, what: Any) -> None: ...

    manager = pluggy.PluginManager("p")
    manager.add_hookspecs(Specs)
    reporting.report = impl(reporting.report)
    manager.register(reporting)
    [found] = manager.hook.report(what=what)
    return found


def test_the_hook_of_a_plugin_may_connect(player: Player, server: socket.socket, installed: Path) -> None:
    source = "import socket\n\ndef report(what):\n    return socket.create_connection(what)\n"
    reported(installed, source, server.getsockname()).close()
    assert player.strays == []


def test_what_a_plugin_asks_by_a_client_is_asked_like_any_other(installed: Path) -> None:
    asking = Player("replay")
    asked = partial(asking.ask, Request("GET", "http://127.0.0.1/upload"))
    with pytest.raises(MissError):
        reported(installed, "def report(what):\n    return what()\n", asked)
    assert len(asking.strays) == 1


def test_an_installed_agent_may_not(player: Player, server: socket.socket, installed: Path) -> None:
    (installed / "agent.py").write_text(CONNECTS)
    agent: Any = importlib.import_module("agent")
    with pytest.raises(MissError):
        agent.connect(server.getsockname())

    async def in_a_task() -> None:
        await asyncio.get_running_loop().create_task(asyncio.to_thread(agent.connect, server.getsockname()))

    with pytest.raises(ConnectionRefusedError):
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
    assert (len(player.strays), sum(player.telemetry_calls.values())) == (3, 0)


@pytest.mark.parametrize("source", [CONNECTS_AT_IMPORT, CONNECTS_AT_IMPORT.replace("127.0.0.1", "prices.example")])
def test_a_package_that_connects_as_it_is_imported_finds_no_network(
    player: Player, server: socket.socket, installed: Path, source: str
) -> None:
    (installed / "prices.py").write_text(source.format(port=server.getsockname()[1]))
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


def test_an_import_is_not_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that an exception leaves half-done would be missing for all that comes after."""
    (tmp_path / "half_done.py").write_text("import sys\n\nFRAME = sys._getframe()\nsys.recall_check(FRAME)\n")
    monkeypatch.syspath_prepend(tmp_path)
    player = Player("replay")
    with player.waiting():
        [wait] = player._waits
        wait.error = MissError("missed")
        monkeypatch.setattr(sys, "recall_check", player.check_waits, raising=False)
        importlib.import_module("half_done")
        with pytest.raises(MissError, match="missed"):
            player.check_waits(sys._getframe())
        wait.error = None
    del sys.modules["half_done"]


def test_where_no_line_of_the_session_leads_here_it_is_that_of_the_package(installed: Path) -> None:
    (installed / "background.py").write_text("def run(what, found):\n    found.append(what())\n")
    background: Any = importlib.import_module("background")
    found: list[str] = []
    thread = threading.Thread(target=background.run, args=(origin.line_of_caller, found))
    thread.start()
    thread.join()
    background.run(origin.line_of_caller, found)
    assert found[0] == "background:2"
    assert "test_origin.py:" in found[1]
