"""Memory systems of others, each the real package, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.memory.asking import NOW, filled, made, sources, texts

NEEDS = {
    "chromadb": ("chromadb", "wordllama"),
    "mem0": ("mem0", "qdrant_client", "wordllama"),
    "bm25s": ("bm25s",),
    "tantivy": ("tantivy",),
}


@pytest.fixture(params=sorted(NEEDS))
def selector(request: pytest.FixtureRequest) -> str:
    # Looked for, and not imported: some of them tell their makers as soon as they are.
    missing = [package for package in NEEDS[request.param] if find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}, which is not installed")
    name: str = request.param
    return name


def test_what_was_stored_is_found_as_it_was(selector: str) -> None:
    client = made(selector)
    client.ready()
    filled(client)
    assert client.count() == 3
    found = client.recall("What colour is the car?", 2, NOW)
    assert texts(found)[0] == "Bob's car is red, and old"
    assert sources(found)[0] == "car"
    assert found[0].score > 0
    assert client.recall("car", 1, NOW) == client.recall("car", 1, NOW)
    client.close()


def test_a_reset_empties_it_and_it_can_be_filled_again(selector: str) -> None:
    client = filled(made(selector))
    client.reset()
    assert client.count() == 0
    assert client.recall("car", 3, NOW) == []
    client.store("a boat on the lake", {"id": "boat", "date": "2026-05-01"})
    assert sources(client.recall("boat", 3, NOW)) == ["boat"]
    client.close()


def test_two_of_them_share_nothing(selector: str) -> None:
    one, other = filled(made(selector)), made(selector)
    other.reset()
    assert other.count() == 0
    assert one.count() == 3
    one.close()
    other.close()


def test_odd_questions_are_no_error(selector: str) -> None:
    client = filled(made(selector))
    for question in ('"', "AND OR", "content:car", "(", "???", "car\\", "x" * 5000):
        assert len(client.recall(question, 3, NOW)) <= 3
    client.close()


def test_mem0_sends_nothing_and_leaves_the_environment_alone(tmp_path: Path) -> None:
    if find_spec("mem0") is None:
        pytest.skip("needs mem0, which is not installed")
    program = """
import os, socket
before = dict(os.environ)
def refuse(*given):
    raise AssertionError(f"looked up {given}")
socket.getaddrinfo = refuse
from tests.memory.asking import filled, made
filled(made("mem0")).close()
from mem0.memory import telemetry
assert not telemetry.MEM0_TELEMETRY
assert dict(os.environ) == before
"""
    env = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.iterdir()) == []
