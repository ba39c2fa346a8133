"""Memory systems that are MCP servers: a real one by the SDK, over standard input and output."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory import mcp_server
from pytest_recall.memory.client import Client
from pytest_recall.replay.exchange import Request, Response
from tests.memory.asking import NOW, filled, made, sources, texts

pytest.importorskip("mcp")

SERVER = """
import os, sys
from typing import Any

open("started.txt", "a").write("x")
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


@server.tool(structured_output=False)
def as_texts(query: str) -> list[str]:
    return [one["text"] for one in kept]


@server.tool()
def told(query: str, session: str = "", checkpoint: str = "") -> list[str]:
    return [session, checkpoint]


@server.tool()
def add(content: str) -> str:
    kept.append({"text": content})
    return "done"


server.run("stdio")
"""
PLAIN = """
import json, os, sys

TOOLS = ("reset", "store", "recall", "hangs", "leaves")
for line in sys.stdin:
    asked = json.loads(line)
    result = {"content": [{"type": "text", "text": "done"}]}
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "memory", "version": "1"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}
    elif asked["method"] == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    elif asked["method"] == "tools/call" and asked["params"]["name"] == "hangs":
        continue
    elif asked["method"] == "tools/call" and asked["params"]["name"] == "leaves":
        os._exit(1)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""What the faults of a server are shown with: it speaks the protocol, and starts without the SDK in no time."""


@pytest.fixture
def server(tmp_path: Path) -> str:
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    return f"mcp:{shlex.quote(sys.executable)} server.py"


@pytest.fixture
def plain(tmp_path: Path) -> str:
    (tmp_path / "plain.py").write_text(PLAIN, encoding="utf-8")
    return f"mcp:{shlex.quote(sys.executable)} plain.py"


@pytest.fixture
def client(server: str, tmp_path: Path) -> Iterator[Client]:
    client = made(server, tmp_path)
    yield client
    client.close()


def test_the_tools_are_called(client: Client, tmp_path: Path) -> None:
    client.ready()
    assert not (tmp_path / "started.txt").exists()
    filled(client)
    found = client.recall("anything", 2, NOW)
    assert sources(found) == ["bees", "car"]
    assert found[0].score == 0.5
    client.reset()
    assert client.recall("anything", 2, NOW) == []
    with pytest.raises(MemoryFault, match=r"the tool `store` failed: .*store.*; look into the server"):
        client.store("boom", {"id": "a"})
    filled(client)
    assert len(client.recall("x", 5, NOW)) == 3
    assert (tmp_path / "started.txt").read_text() == "x"
    client.close()
    assert client.recall("x", 5, NOW) == []
    assert (tmp_path / "started.txt").read_text() == "xx", "a closed one starts again"


def test_tools_by_other_names_get_the_arguments_that_they_have(server: str, tmp_path: Path) -> None:
    client = made(f"{server};store=add;recall=as_texts", tmp_path)
    assert texts(filled(client, {"a": "one", "b": "two"}).recall("x", 5, NOW)) == ["one", "two"]
    client.close()


def test_a_tool_gets_the_session_in_which_it_is_asked_if_it_takes_it(server: str, tmp_path: Path) -> None:
    context = QueryContext(session="hr", date="2026-05-07", checkpoint="30d")
    client = made(f"{server};recall=told", tmp_path)
    client.learn()
    assert client.takes_context
    assert texts(client.recall("x", 5, context)) == ["hr", "30d"]
    client.close()
    client = made(server, tmp_path)
    client.learn()
    assert not client.takes_context
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
    with pytest.raises(MemoryFault, match="the server does not reply: no database; run it by hand"):
        client.reset()
    client.close()


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
