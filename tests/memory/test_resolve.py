"""From a selector to a client: nothing is imported or started on the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recall.cases.memory_part import MemoryFault
from pytest_recall.judges import built_in
from pytest_recall.judges.built_in import NEEDS
from pytest_recall.memory.resolve import DEFAULT, resolve
from pytest_recall.memory.sqlite_fts import SqliteFts
from pytest_recall.registry import registry

KINDS = registry().memories()

NAMES = (
    *("sqlite-fts:x.db", "sessions", "embedding", "hybrid", "last-3", "full", "null", "command:x", "python:x:y"),
    *("http://h", "mcp:x", "grpc://h", "chromadb", "mem0", "bm25s", "tantivy"),
)
"""A selector of each kind."""


def test_the_default_is_full_text_search_in_memory() -> None:
    client = resolve(DEFAULT, KINDS)
    assert isinstance(client, SqliteFts)
    assert client.private


def test_the_worker_is_put_in() -> None:
    assert resolve("http://127.0.0.1:8080/{worker}", KINDS).name == "http://127.0.0.1:8080/main"
    assert (
        resolve("command:memory --config {worker}.toml", KINDS, worker="gw1").name == "command:memory --config gw1.toml"
    )


def test_every_kind_is_resolved_without_its_package() -> None:
    assert {kind.name for kind in KINDS.all} == {KINDS.parse(name).kind for name in NAMES}
    program = """
import sys
from pytest_recall.memory.resolve import resolve
from pytest_recall.registry import registry
for name in sys.argv[1:]:
    assert resolve(name, registry().memories()).name == name
heavy = {"httpx", "mcp", "grpc", "chromadb", "mem0", "bm25s", "tantivy", "wordllama", "numpy", "anyio"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program, *NAMES], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("selector", "package", "said"),
    [
        ("bm25s", "bm25s", "needs bm25s; run `pip install 'pytest-recall[memory-bm25s]'`"),
        ("tantivy", "tantivy", "needs tantivy; run `pip install 'pytest-recall[memory-tantivy]'`"),
        ("mcp:python", "mcp", "needs the MCP SDK; run `pip install 'pytest-recall[memory-mcp]'`"),
        ("http://127.0.0.1:1", "httpx", "needs httpx; run `pip install 'pytest-recall[memory-http]'`"),
        ("embedding", "wordllama", NEEDS),
    ],
)
def test_a_package_that_is_missing_is_named(
    selector: str, package: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(built_in, "_load", built_in._load.__wrapped__)  # Another test may have loaded it.
    with pytest.raises(MemoryFault) as error:
        resolve(selector, KINDS).ready()
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("selector", "known"),
    [
        ("sqlite-fts", True),
        ("mem0", True),
        ("mem0:openai:m", True),
        ("mem0:python:mine.py:ask", False),
        ("command:sh -c true", False),
        ("http://127.0.0.1:1", False),
    ],
)
def test_it_is_said_of_what_it_cannot_be_known_what_it_is_made_of(tmp_path: Path, selector: str, known: bool) -> None:
    assert (not resolve(selector, KINDS, root=tmp_path).elsewhere) is known
