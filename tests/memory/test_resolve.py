"""From a selector to a client: nothing is imported or started on the way."""

from __future__ import annotations

import subprocess
import sys

from pytest_recall.memory.resolve import DEFAULT, resolve
from pytest_recall.memory.sqlite_fts import SqliteFts


def test_the_default_is_full_text_search_in_memory() -> None:
    client = resolve(DEFAULT)
    assert isinstance(client, SqliteFts)
    assert client.private


def test_the_worker_is_put_in() -> None:
    assert resolve("http://127.0.0.1:8080/{worker}").name == "http://127.0.0.1:8080/main"
    assert resolve("command:memory --config {worker}.toml", worker="gw1").name == "command:memory --config gw1.toml"


def test_every_kind_is_resolved_without_its_package() -> None:
    program = """
import sys
from pytest_recall.memory.resolve import resolve
names = ["sqlite-fts:x.db", "sessions", "embedding", "hybrid", "last-3", "full", "null", "command:x", "python:x:y",
         "http://h", "mcp:x", "grpc://h", "chromadb", "mem0", "bm25s", "tantivy"]
for name in names:
    assert resolve(name).name == name
heavy = {"httpx", "mcp", "grpc", "chromadb", "mem0", "bm25s", "tantivy", "wordllama", "numpy", "anyio"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
