"""Memory systems that are MCP servers: a real one by the SDK, over standard input and output."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory import mcp_server
from pytest_recall.replay.exchange import Request, Response
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import Watch
from tests.memory.asking import NOW, filled, made, sources, texts
from tests.replay.test_tape import tape_of

pytest.importorskip("mcp")

SERVER = """
import os, sys
from typing import Any

if os.environ.get("FAKE") == "dies":
    sys.exit("no database")

from mcp.server import MCPServer

server = MCPServer("memory")
kept: list[dict[str, Any]] = []


@server.tool()
def reset() -> str:
    kept.clear()
    return "done"


@server.tool()
def store(content: str, metadata: dict[str, str]) -> str:
    if content == "boom":
        raise ValueError("the disk is full")
    kept.append({"text": content, "source": metadata["id"], "score": 0.5})
    return "done"


@server.tool()
def recall(query: str, limit: int) -> list[dict[str, Any]]:
    return kept[:limit]


server.run("stdio")
"""
PLAIN = """
import json, os, sys

open("started.txt", "a").write("x")
TOOLS = {
    "reset": (),
    "store": ("content", "metadata"),
    "recall": ("query", "limit"),
    "add": ("content",),
    "told": ("query", "session", "checkpoint"),
    "store_many": ("units",),
    "apart": ("namespace",),
    "put": ("content", "metadata", "namespace"),
    "find": ("query", "namespace"),
    "put_many": ("units", "namespace"),
    "hangs": (),
    "leaves": (),
}
for line in sys.stdin:
    asked = json.loads(line)
    result = {"content": [{"type": "text", "text": text} for text in ("one", "two")]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "memory", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif asked["method"] == "tools/list":
        schemas = {name: {"type": "object", "properties": dict.fromkeys(of, {})} for name, of in TOOLS.items()}
        result = {"tools": [{"name": name, "inputSchema": schema} for name, schema in schemas.items()]}
    elif asked["method"] == "tools/call" and asked["params"]["name"] == "hangs":
        continue
    elif asked["method"] == "tools/call" and asked["params"]["name"] == "leaves":
        os._exit(1)
    elif asked["method"] == "tools/call":
        open("called.jsonl", "a").write(json.dumps(asked["params"]["arguments"]) + "\\n")
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server without the SDK, which starts in no time: it notes what it is given, and each tool gives two texts."""


@pytest.fixture
def server(tmp_path: Path) -> str:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return f"mcp:{shlex.quote(sys.executable)} server.py"


@pytest.fixture
def plain(tmp_path: Path) -> str:
    (tmp_path / "plain.py").write_text(PLAIN, encoding="utf-8")
    return f"mcp:{shlex.quote(sys.executable)} plain.py"


def given(folder: Path) -> list[dict[str, object]]:
    """Return the arguments of each call of the plain server."""
    return [json.loads(line) for line in (folder / "called.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_tools_are_called(server: str, tmp_path: Path) -> None:
    client = made(server, tmp_path)
    filled(client)
    found = client.recall("anything", 2, NOW)
    assert sources(found) == ["bees", "car"]
    assert found[0].score == 0.5
    assert not client.takes_context
    client.reset()
    assert client.recall("anything", 2, NOW) == []
    with pytest.raises(MemoryFault, match=r"the tool `store` failed: .*store.*; look into the server"):
        client.store("boom", {"id": "a"})
    filled(client)
    assert len(client.recall("x", 5, NOW)) == 3
    client.close()


def test_it_is_no_program_of_the_case_that_is_replayed(plain: str, tmp_path: Path) -> None:
    player = Player("replay")
    watch = Watch(player)
    try:
        with player.playing(tape_of(tmp_path, mode="replay")) as tape:
            client = made(plain, tmp_path)
            assert texts(client.recall("anything", 2, NOW)) == ["one", "two"]
            client.close()
    finally:
        watch.call_off()
    assert (tape.misses, tape.started) == ([], {})


def test_it_is_started_when_it_is_first_asked_and_again_once_it_was_closed(plain: str, tmp_path: Path) -> None:
    client = made(plain, tmp_path)
    client.ready()
    assert not (tmp_path / "started.txt").exists()
    client.reset()
    client.reset()
    assert (tmp_path / "started.txt").read_text() == "x"
    client.close()
    client.reset()
    assert (tmp_path / "started.txt").read_text() == "xx"
    client.close()


def test_tools_by_other_names_get_the_arguments_that_they_have(plain: str, tmp_path: Path) -> None:
    client = made(f"{plain};store=add;recall=told", tmp_path)
    filled(client, {"a": "first", "b": "second"})
    assert texts(client.recall("x", 5, NOW)) == ["one", "two"]
    client.close()
    assert given(tmp_path) == [{}, {"content": "first"}, {"content": "second"}, {"query": "x"}]


def test_a_tool_gets_the_session_in_which_it_is_asked_if_it_takes_it(plain: str, tmp_path: Path) -> None:
    context = QueryContext(session="hr", date="2026-05-07", checkpoint="30d")
    client = made(f"{plain};recall=told", tmp_path)
    client.learn()
    assert client.takes_context
    client.recall("x", 5, context)
    client.close()
    client = made(plain, tmp_path)
    client.learn()
    assert not client.takes_context
    client.recall("x", 5, context)
    client.close()
    assert given(tmp_path) == [{"query": "x", "session": "hr", "checkpoint": "30d"}, {"query": "x", "limit": 5}]


APART = ";reset=apart;store=put;recall=find"
TEXTS = [("a", {"id": "1"}), ("b", {"id": "2"})]
UNITS = [{"content": content, "metadata": about} for content, about in TEXTS]


def test_several_texts_go_to_a_tool_that_takes_them(plain: str, tmp_path: Path) -> None:
    client = made(plain, tmp_path)
    assert client.batch == 1, "it was not asked for its tools"
    client.healthcheck()
    assert client.batch == 100
    client.store_many(TEXTS)
    client.close()
    other = made(f"{plain};store_many=add", tmp_path)
    other.learn()
    assert other.batch == 1, "its schema has no `units`"
    other.close()
    assert given(tmp_path) == [{"units": UNITS}]


def test_a_namespace_goes_to_tools_that_take_it_of_one_process(plain: str, tmp_path: Path) -> None:
    client = made(f"{plain}{APART};store_many=put_many", tmp_path)
    assert not client.namespaces, "it was not asked for its tools"
    client.learn()
    stores = [client.in_namespace(name) for name in ("one", "two")]
    client.close()
    for store in stores:
        store.healthcheck()
        assert store.batch == 100
    stores[0].reset()
    stores[0].store("first", {"id": "1"})
    stores[0].recall("x", 5, NOW)
    stores[0].close()
    stores[1].store_many(TEXTS)
    client.reset()
    stores[1].close()
    client.close()
    assert given(tmp_path) == [
        {"namespace": "one"},
        {"namespace": "one", "content": "first", "metadata": {"id": "1"}},
        {"namespace": "one", "query": "x"},
        {"namespace": "two", "units": UNITS},
        {},
    ]
    # Once for the list of tools, after which no one used it, and once for both stores and what came after.
    assert (tmp_path / "started.txt").read_text() == "xx"


def test_stores_are_kept_apart_only_where_each_tool_takes_a_namespace(plain: str, tmp_path: Path) -> None:
    client = made(f"{plain};reset=apart;store=put", tmp_path)
    client.learn()
    with pytest.raises(MemoryFault, match="has no separate named stores"):
        client.in_namespace("one")
    client.close()
    client = made(f"{plain}{APART}", tmp_path)
    client.learn()
    assert (client.batch, client.in_namespace("one").batch) == (100, 1), "`store_many` takes no namespace"
    client.close()


def test_a_recording_starts_no_server_to_know_its_tools(plain: str, tmp_path: Path) -> None:
    client = made(plain, tmp_path, lambda request, call: call())
    client.healthcheck()
    assert not (tmp_path / "started.txt").exists()
    client.reset()
    assert client.batch == 1
    client.close()


def test_a_tool_that_is_not_there(plain: str, tmp_path: Path) -> None:
    client = made(f"{plain};recall=recal", tmp_path)
    with pytest.raises(MemoryFault, match=r"no tool `recal`; did you mean `recall`\?"):
        client.recall("x", 5, NOW)
    client.close()


def test_a_tool_that_takes_too_long(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = made(f"{plain};recall=hangs;timeout=5", tmp_path)
    client.reset()
    given: list[float | None] = []

    def short(timeout: float | None) -> float:
        given.append(timeout)
        return 0.2

    monkeypatch.setattr(mcp_server, "patience", short)
    with pytest.raises(MemoryFault, match=r"the tool `hangs`: .*[Tt]imed out"):
        client.recall("x", 5, NOW)
    assert given == [5]
    client.close()


def test_a_server_that_does_not_start(server: str, tmp_path: Path) -> None:
    client = made(server, tmp_path, FAKE="dies")
    for ask in (client.reset, client.learn):
        with pytest.raises(MemoryFault, match="the server does not reply: no database; run it by hand"):
            ask()
    client.close()


@pytest.mark.skipif(shutil.which("true") is None, reason="the program is one of Unix")
def test_a_server_that_ends_without_a_word_does_not_reply(tmp_path: Path) -> None:
    client = made("mcp:true", tmp_path)
    with pytest.raises(MemoryFault, match=r"^the server does not reply: .+; run it by hand$"):
        client.reset()
    client.close()


def test_a_command_line_that_cannot_be_taken_apart(tmp_path: Path) -> None:
    with pytest.raises(MemoryFault, match=r"^mcp:'server: "):
        made("mcp:'server", tmp_path)


def test_a_server_that_leaves(plain: str, tmp_path: Path) -> None:
    client = made(f"{plain};recall=leaves;timeout=20", tmp_path)
    client.reset()
    with pytest.raises(MemoryFault, match=r"the (server does not reply|tool `leaves`)"):
        client.recall("x", 5, NOW)
    client.close()


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    client = made("mcp:nowhere", tmp_path)
    with pytest.raises(MemoryFault, match="there is no program `nowhere` on PATH"):
        client.ready()
    with pytest.raises(MemoryFault, match="there is no program `nowhere` on PATH"):
        client.reset()


@pytest.mark.parametrize("text", ["kept", json.dumps({"passages": [{"text": "kept"}]})])
def test_what_is_recorded_starts_no_server_and_may_be_json(tmp_path: Path, text: str) -> None:
    asked: list[Request] = []

    def recorded(request: Request, call: object) -> Response:
        asked.append(request)
        plain = {"failed": False, "texts": [text], "structured": None}
        return Response(200, "OK", (), (json.dumps(plain).encode(),), (0.0,))

    client = made("mcp:nowhere", tmp_path, recorded)
    assert texts(client.recall("x", 5, NOW)) == ["kept"]
    assert [(one.method, one.url) for one in asked] == [("CALL", "mcp:///nowhere")]
    assert json.loads(asked[0].body) == {"tool": "recall", "arguments": {"query": "x", "limit": 5, "context": {}}}
