"""Memory systems that users wrote: objects, classes and factories, sync and async."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.memory_part import MemoryClient, MemoryFault
from pytest_recall.memory import python_memory
from pytest_recall.memory.built_in import BUILT_IN
from pytest_recall.memory.python_memory import Own, checked
from pytest_recall.memory.resolve import resolve
from tests.memory.asking import FACTS, NOW, filled, made

MODULE = """
made = []


class Kept:
    def __init__(self):
        self.kept = []
        made.append(self)

    def reset(self):
        self.kept.clear()

    def store(self, content, metadata):
        self.kept.append((content, dict(metadata)))

    def recall(self, query, limit, context):
        return [text for text, _ in self.kept]


class Whole(Kept):
    private = True

    def answer(self, query, limit, context):
        return query.upper()

    def finalize(self):
        self.kept.append(("finalized", {}))

    def count(self):
        return len(self.kept)

    def healthcheck(self):
        raise RuntimeError("no database")

    def is_ready(self):
        return len(self.kept) > 1

    def close(self):
        self.kept = None


def factory():
    return Whole()


async def late():
    return Whole()


ready = Kept()
number = 3


class Wrong:
    def resett(self):
        pass
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "own_memory.py").write_text(MODULE, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", ["Kept", "Whole", "factory", "ready"])
def test_an_object_a_class_or_a_factory(root: Path, name: str) -> None:
    client = filled(made(f"python:own_memory.py:{name}", root))
    assert client.recall("x", 5, NOW)[:3] == list(FACTS.values())


def test_it_is_made_once_and_what_it_has_is_used(root: Path) -> None:
    client = filled(made("python:own_memory.py:Whole", root))
    assert client.count() == 4
    assert client.answer("why?", 5, NOW) == "WHY?"
    assert client.private
    with pytest.raises(RuntimeError, match="no database"):
        client.healthcheck()
    client.close()


def test_what_it_has_not_is_not_called(root: Path) -> None:
    client = filled(made("python:own_memory.py:Kept", root))
    assert (client.count(), client.answer("x", 5, NOW), client.healthcheck(), client.is_ready()) == (None,) * 4
    assert not client.private
    client.close()


def test_one_that_was_never_used_is_not_imported_to_be_closed(root: Path) -> None:
    made("python:no_such_file.py:Kept", root).close()


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("python:own_memory.py:Kpet", r"has no name `Kpet`; did you mean `Kept`\?"),
        ("python:nowhere.py:Kept", "there is no Python file nowhere.py"),
        ("python:no_such_module_here:Kept", "there is no module no_such_module_here"),
        ("python:own_memory.py:number", "int has no method `reset`"),
        ("python:own_memory.py:Wrong", r"Wrong has no method `reset`; did you mean `resett`\?"),
        ("python:own_memory.py:late", "the factory is async"),
    ],
)
def test_what_is_no_memory_is_one_sentence(root: Path, selector: str, message: str) -> None:
    with pytest.raises(MemoryFault, match=message):
        made(selector, root).ready()


class Slow:
    def reset(self) -> None:
        pass

    def store(self, content: str, metadata: Any) -> None:
        pass

    async def recall(self, query: str, limit: int, context: Any) -> list[str]:
        if query == "own":
            raise TimeoutError("mine")
        await asyncio.sleep(60 if query == "slow" else 0)
        return [query]


def test_async_methods_are_awaited_for_as_long_as_they_may_take() -> None:
    client = Own("x", Slow(), timeout=0.2)
    assert asyncio.run(client.recall("fast", 5, NOW)) == ["fast"]
    with pytest.raises(MemoryFault, match=r"no reply within 0.2 s; add `;timeout=`"):
        asyncio.run(client.recall("slow", 5, NOW))
    with pytest.raises(TimeoutError, match="mine"):
        asyncio.run(client.recall("own", 5, NOW))


def test_the_protocol_can_be_checked_at_run_time() -> None:
    assert isinstance(Slow(), MemoryClient)
    assert not isinstance(object(), MemoryClient)
    assert isinstance(checked(Slow()), Slow)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def (", r"bad.py raised SyntaxError: invalid syntax \(bad.py, line 1\); correct it"),
        ("import no_such_thing", "bad.py imports `no_such_thing`, which is not there"),
        ("def Memory(): raise OSError('no key')", "bad.py raised OSError: no key; correct it"),
    ],
)
def test_what_cannot_be_imported_or_made_is_one_sentence(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "bad.py").write_text(source)
    with pytest.raises(MemoryFault, match=said):
        made("python:bad.py:Memory", tmp_path).ready()


CONFIGURED = """
class Memory:
    def __init__(self, size, *, model="small"):
        self.made = (size, model)
    def reset(self): ...
    def store(self, content, metadata): ...
    def recall(self, query, limit, context): return [str(self.made)]

def any_of(**given):
    memory = Memory(1)
    memory.made = given
    return memory

ready = Memory(1)
"""


def test_a_class_and_a_factory_are_made_with_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "configured.py").write_text(CONFIGURED)

    def found(name: str, **config: Any) -> Any:
        return resolve(f"python:configured.py:{name}", BUILT_IN, root=tmp_path, config=config).recall("?", 1, NOW)

    # What results show as well may be no parameter.
    assert found("Memory", size=3, model="big", synthesisModel="x") == ["(3, 'big')"]
    assert found("any_of", size=3, synthesisModel="x") == ["{'size': 3, 'synthesisModel': 'x'}"]
    with pytest.raises(MemoryFault, match="Memory takes no setting `siz`; did you mean `size`"):
        found("Memory", siz=3)
    with pytest.raises(MemoryFault, match="ready is an object, and takes no settings; name its class"):
        found("ready", size=3)
    with pytest.raises(MemoryFault, match="missing 1 required positional argument: 'size'"):
        found("Memory", model="big")


def test_one_without_namespaces_says_so(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(MODULE, encoding="utf-8")
    with pytest.raises(MemoryFault, match="has no separate named stores"):
        resolve("python:kept.py:Kept", BUILT_IN, root=tmp_path).in_namespace("a")


def test_a_class_without_a_signature_takes_all_settings() -> None:
    assert python_memory._taken(dict, {"a": 1}) == {"a": 1}


@pytest.mark.parametrize("name", ["Plain", "Mixed", "Async"])
def test_a_time_limit_is_refused_where_it_could_end_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / "limited.py").write_text(LIMITED)
    client = resolve(f"python:limited.py:{name};timeout=3s", BUILT_IN, root=tmp_path)
    if name == "Async":
        client.ready()
        return
    with pytest.raises(MemoryFault, match=f"`{'reset' if name == 'Plain' else 'answer'}` is not `async def`"):
        client.ready()


LIMITED = """
class Plain:
    def reset(self): ...
    def store(self, content, metadata): ...
    def recall(self, query, limit, context): return []

class Async:
    async def reset(self): ...
    async def store(self, content, metadata): ...
    async def recall(self, query, limit, context): return []
    def count(self): return 0

class Mixed(Async):
    def answer(self, query, limit, context): return "x"
"""
