"""Memory systems of others, each the real package, without a network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryFault
from tests.memory.asking import NOW, filled, made, sources, texts
from tests.models.endpoint import Answer as Reply
from tests.models.endpoint import Asked, chat, endpoint, failure

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


def test_chroma_is_handed_units_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("chromadb") is None or find_spec("wordllama") is None:
        pytest.skip("needs chromadb and wordllama, which are not installed")
    monkeypatch.setattr("pytest_recall.extensions.memories.chroma.BATCH", 2)
    facts = {f"f{n}": f"The number {n} is on door {chr(97 + n) * 4}" for n in range(5)}
    client = filled(made("chromadb"), facts)
    collection: Any = client._collection  # type: ignore[attr-defined]
    assert collection.count() == 5  # Nothing is left waiting once all is told.
    client.store("a boat on the lake", {"id": "boat"})
    assert sources(client.recall("boat", 1, NOW)) == ["boat"]
    assert [sources(client.recall(text, 1, NOW)) for text in facts.values()] == [[name] for name in facts]
    client.store("told, and forgotten", {"id": "gone"})
    client.reset()
    assert client.count() == 0
    client.close()


@pytest.fixture
def real_mem0() -> None:
    missing = [package for package in NEEDS["mem0"] if find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}, which is not installed")


def facts_found(asked: Asked) -> Reply:
    """Answer as a model would: one fact of the newest message, in words of its own."""
    said = asked.body["messages"][-1]["content"]
    newest = said.partition("## New Messages")[2].partition("## Observation Date")[0]
    fact = "Bob owns a red car" if "car" in newest else "The pump broke" if "pump" in newest else None
    found = {"memory": [] if fact is None else [{"text": fact, "attributed_to": "user"}]}
    return chat(json.dumps(found))


@pytest.mark.usefixtures("real_mem0")
def test_mem0_keeps_the_facts_that_its_model_finds() -> None:
    with endpoint(facts_found) as there:
        client = made(f"mem0:openai:m;{there.url}/v1", OPENAI_API_KEY="k")
        client.ready()
        filled(client)
        found = client.recall("Which car has Bob?", 5, NOW)
        assert texts(found)[0] == "Bob owns a red car"
        assert set(texts(found)) == {"Bob owns a red car", "The pump broke"}
        assert set(sources(found)) == {None}  # A fact is no unit.
        assert client.count() is None
        client.store("The pump is new", {"id": "new", "date": "2023-05-08"})
        told = there.asked[-1].body["messages"][-1]["content"]
        assert "The new messages are of 2023-05-08" in told
        client.reset()
        assert client.recall("car", 5, NOW) == []
        client.store("It rains", {"id": "rain"})
        assert "red, and old" not in there.asked[-1].body["messages"][-1]["content"]  # Nothing of before is shown.
        client.close()


@pytest.mark.usefixtures("real_mem0")
@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (failure(401), "openai:m"),
        (chat("{", finish="length"), "did not end within 2,000 tokens"),
    ],
)
def test_a_model_of_mem0_that_fails_is_a_fault_and_no_text_without_facts(reply: Reply, said: str) -> None:
    with endpoint(reply) as there:
        client = made(f"mem0:openai:m;{there.url}/v1", OPENAI_API_KEY="k")
        client.reset()
        with pytest.raises(MemoryFault, match=said):
            client.store("Bob's car is red", {"id": "car"})
        client.close()


@pytest.mark.usefixtures("real_mem0")
def test_a_model_of_mem0_that_cannot_be_asked_is_said_before() -> None:
    with pytest.raises(MemoryFault, match="OPENAI_API_KEY"):
        made("mem0:openai:m").ready()


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
