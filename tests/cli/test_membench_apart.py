"""`recall memory run --concurrency` with services by gRPC and MCP that keep stores apart, each run in a new process."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_membench import RUN
from tests.helpers import programs

SERVER = """
import json
from typing import Any

from mcp.server import MCPServer

server = MCPServer("memory")
stores: dict[str, list[dict[str, Any]]] = {}


def note(*what: Any) -> None:
    with open("calls.jsonl", "a") as file:
        file.write(json.dumps(what) + "\\n")


note("started")


@server.tool()
def reset(namespace: str = "") -> str:
    note("reset", namespace, 0)
    stores[namespace] = []
    return "done"


@server.tool()
def store(content: str, metadata: dict[str, str], namespace: str = "") -> str:
    return store_many([{"content": content, "metadata": metadata}], namespace)


@server.tool()
def store_many(units: list[dict[str, Any]], namespace: str = "") -> str:
    note("store", namespace, len(units))
    stores[namespace] += [{"text": one["content"], "source": one["metadata"]["id"]} for one in units]
    return "done"


@server.tool()
def recall(query: str, limit: int, namespace: str = "") -> list[dict[str, Any]]:
    words = set(query.lower().split())
    return sorted(stores[namespace], key=lambda one: -len(words & set(one["text"].lower().split())))[:limit]


server.run("stdio")
"""


def run(folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the results of a run in a process of its own."""
    done = subprocess.run(
        programs.recall(*RUN, "--json", *arguments), cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def calls_in(folder: Path) -> list[list[Any]]:
    """Return the calls that the server has noted."""
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


def test_tools_keep_conversations_apart_and_take_several_texts(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    memory = ("--memory", f"mcp:{shlex.quote(sys.executable)} server.py")
    several = run(tmp_path, *memory, "--concurrency", "3", "--out", "several")
    calls = calls_in(tmp_path)
    (tmp_path / "calls.jsonl").unlink()
    one = run(tmp_path, *memory, "--memory-reset", "--out", "one")
    assert several["all"]["failures"] == 0
    assert {**several["all"], "recall_seconds": None} == {**one["all"], "recall_seconds": None}
    assert [call for call in calls if call == ["started"]] == [["started"]], "one process has both stores"
    sizes: dict[str, list[int]] = {}
    for _, namespace, size in (call for call in calls if call[0] == "store"):
        sizes.setdefault(namespace, []).append(size)
    assert sorted(sizes.values()) == [[24], [25]]
    assert all(sizes)
    assert {call[1] for call in calls if call[0] == "reset"} == {*sizes}
    told = [call for call in calls_in(tmp_path) if call[0] == "store"]
    assert told == [["store", "", 25], ["store", "", 24]]


def test_a_grpc_service_keeps_conversations_apart_and_takes_several_days(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    from tests.memory.grpc_bench import Bench, grpc_serving

    with grpc_serving(Bench()) as bench:
        bench.health |= {"namespaces": True, "batches": 10}
        memory = ("--memory", f"grpc://{bench.address}")
        found = run(tmp_path, *memory, "--concurrency", "3", "--out", "several")
        assert found["all"]["failures"] == 0
        names = {message.namespace for method, message in bench.asked if method != "Healthcheck"}
        assert len(names) == 2
        assert all(names)
        several = {}
        for name in names:
            (days,) = (message.days for message in bench.sent("IngestDays") if message.namespace == name)
            several[name] = [(day.day_number, day.content) for day in days]
            asked = [message for message in bench.sent("Query") if message.namespace == name]
            assert 0 < len(asked) < 22
        assert bench.sent("IngestDay") == []
        bench.asked.clear()
        bench.health.clear()
        bench.health["ready"] = True
        run(tmp_path, *memory, "--memory-reset", "--out", "one")
        one = [(message.day_number, message.content) for message in bench.sent("IngestDay")]
        assert sorted(one) == sorted(day for days in several.values() for day in days)
        assert not any(message.namespace for method, message in bench.asked)
