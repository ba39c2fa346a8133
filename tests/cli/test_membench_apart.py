"""`recall memory run --concurrency` with services by gRPC and MCP that keep stores apart."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Recall
from tests.cli.test_membench import RUN

SERVER = """
import json
import sys

stores = {}
TAKES = {"reset": (), "store": ("content", "metadata"), "store_many": ("units",), "recall": ("query", "limit")}


def note(*what):
    with open("calls.jsonl", "a") as file:
        file.write(json.dumps(what) + "\\n")


def called(tool, namespace, units=(), query="", **_):
    if tool != "recall":
        note(tool, namespace, len(units))
    if tool == "reset":
        stores[namespace] = []
    if tool == "recall":
        words = set(query.lower().split())
        best = sorted(stores[namespace], key=lambda one: -len(words & set(one["text"].lower().split())))
        return [{"type": "text", "text": json.dumps(one)} for one in best[:10]]
    stores[namespace] += [{"text": one["content"], "source": one["metadata"]["id"]} for one in units]
    return [{"type": "text", "text": "done"}]


note("started")
for line in sys.stdin:
    asked = json.loads(line)
    method, given = asked["method"], asked.get("params", {})
    if method == "initialize":
        about = {"name": "memory", "version": "1"}
        result = {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
    elif method == "tools/list":
        schemas = {name: dict.fromkeys((*of, "namespace"), {}) for name, of in TAKES.items()}
        listed = [(name, {"type": "object", "properties": of}) for name, of in schemas.items()]
        result = {"tools": [{"name": name, "inputSchema": schema} for name, schema in listed]}
    else:
        arguments = {"namespace": "", **(given.get("arguments") or {})}
        result = {"content": called(given["name"], **arguments)} if "name" in given else {}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def calls_in(folder: Path) -> list[list[Any]]:
    """Return the calls that the server has noted."""
    return [json.loads(line) for line in (folder / "calls.jsonl").read_text(encoding="utf-8").splitlines()]


def results(inside: Recall, folder: Path, *arguments: str) -> dict[str, Any]:
    """Return the results of a run."""
    done = inside(folder, *RUN, "--json", *arguments)
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_tools_keep_conversations_apart_and_take_several_texts(inside: Recall, tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    (tmp_path / "server.py").write_text(SERVER, encoding="utf-8")
    memory = ("--memory", f"mcp:{shlex.quote(sys.executable)} server.py")
    several = results(inside, tmp_path, *memory, "--concurrency", "3", "--out", "several")
    calls = calls_in(tmp_path)
    (tmp_path / "calls.jsonl").unlink()
    one = results(inside, tmp_path, *memory, "--memory-reset", "--out", "one")
    assert several["all"]["failures"] == 0
    assert {**several["all"], "recall_seconds": None} == {**one["all"], "recall_seconds": None}
    assert [call for call in calls if call == ["started"]] == [["started"]], "one process has both stores"
    sizes: dict[str, list[int]] = {}
    for _, namespace, size in (call for call in calls if call[0] == "store_many"):
        sizes.setdefault(namespace, []).append(size)
    assert sorted(sizes.values()) == [[24], [25]]
    assert all(sizes)
    assert {call[1] for call in calls if call[0] == "reset"} == {*sizes}
    told = [call for call in calls_in(tmp_path) if call[0] == "store_many"]
    assert told == [["store_many", "", 25], ["store_many", "", 24]]


def test_a_grpc_service_keeps_conversations_apart_and_takes_several_days(inside: Recall, tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    from tests.extensions.memories.grpc_bench import Bench, grpc_serving

    with grpc_serving(Bench()) as bench:
        bench.health |= {"namespaces": True, "batches": 10}
        memory = ("--memory", f"grpc://{bench.address}")
        found = results(inside, tmp_path, *memory, "--concurrency", "3", "--out", "several")
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
        results(inside, tmp_path, *memory, "--memory-reset", "--out", "one")
        one = [(message.day_number, message.content) for message in bench.sent("IngestDay")]
        assert sorted(one) == sorted(day for days in several.values() for day in days)
        assert not any(message.namespace for method, message in bench.asked)
