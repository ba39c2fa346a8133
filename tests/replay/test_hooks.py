"""Hooks beneath methods of libraries, and after the import of a module."""

from __future__ import annotations

import asyncio
import functools
import importlib
import inspect
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import wrapt

from pytest_recall.replay.hooks import defined, once_imported, put_beneath


class Base:
    def send(self, text: str) -> str:
        return f"base {text}"


class Client(Base):
    """A library's client."""

    def get(self, text: str, /, *, times: int = 1) -> str:
        return f"sent {text * times}"

    async def fetch(self, text: str = "a") -> str:
        return f"fetched {text}"

    def send(self, text: str) -> str:
        return super().send(text)

    is_empty = str.isspace


def counting(seen: list[Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(args)
            return original(self, *args, **kwargs)

        return hook

    return wrap


def mocked(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Answer `mine`, and pass all else through, without saying what was there."""
    real = getattr(Client, name)
    monkeypatch.setattr(Client, name, lambda self, text: "mocked" if text == "mine" else real(self, text))


@pytest.mark.parametrize("first", ["mock", "hook"])
@pytest.mark.parametrize("name", ["get", "fetch"])
def test_a_mock_is_asked_first_and_passes_through_to_the_hook(
    monkeypatch: pytest.MonkeyPatch, first: str, name: str
) -> None:
    seen: list[Any] = []
    if first == "mock":
        mocked(monkeypatch, name)
    undo = put_beneath(Client, name, counting(seen))
    if first == "hook":
        mocked(monkeypatch, name)

    def get(text: str) -> Any:
        answer = getattr(Client(), name)(text)
        return asyncio.run(answer) if inspect.iscoroutine(answer) else answer

    assert (get("mine"), seen) == ("mocked", [])
    assert (get("x"), seen) == ("sent x" if name == "get" else "fetched x", [("x",)])
    monkeypatch.undo()
    get("y")
    assert seen == [("x",), ("y",)], "the hook outlives a mock that came first"
    undo()
    get("z")
    assert seen == [("x",), ("y",)]


def test_a_function_keeps_its_identity_and_what_is_read_of_it() -> None:
    function = Client.get
    before = (function.__code__, dict(vars(function)))
    told = (inspect.signature(function), inspect.getfullargspec(function), function.__code__.co_filename)
    undo = put_beneath(Client, "get", counting([]))
    assert Client.get is function
    assert function.__code__ is not before[0]
    assert (inspect.signature(function), inspect.getfullargspec(function), function.__code__.co_filename) == told
    assert Client().get("a", times=2) == "sent aa"
    undo()
    assert (function.__code__, dict(vars(function))) == before


def test_hooks_of_a_session_in_a_session_are_both_called() -> None:
    outer: list[Any] = []
    inner: list[Any] = []
    undo = [put_beneath(Client, "get", counting(outer)), put_beneath(Client, "get", counting(inner))]
    assert Client().get("a") == "sent a"
    assert (outer, inner) == ([("a",)], [("a",)])
    undo.pop()()
    Client().get("b")
    assert (outer, inner) == ([("a",), ("b",)], [("a",)])
    undo.pop()()
    Client().get("c")
    assert (outer, inner) == ([("a",), ("b",)], [("a",)])


def test_a_coroutine_function_stays_one() -> None:
    undo = put_beneath(Client, "fetch", counting([]))
    assert inspect.iscoroutinefunction(Client.fetch)
    assert asyncio.run(Client().fetch()) == "fetched a"
    undo()


def test_a_method_that_needs_its_closure_is_replaced() -> None:
    before = Client.send
    seen: list[Any] = []
    undo = put_beneath(Client, "send", counting(seen))
    assert Client().send("a") == "base a"
    assert seen == [("a",)]
    undo()
    assert Client.send is before


def test_what_is_not_written_in_python_has_no_function() -> None:
    assert defined(Client, "is_empty") is None
    assert defined(Client, "get") is Client.get


PACKAGE = """
import threading

other = threading.Event()
other.wait(20)
from {name}.part import VALUE
"""


def test_a_part_of_a_package_that_another_thread_imports_is_not_waited_for_in_a_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "recall_of_two_threads"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(PACKAGE.format(name=name))
    (tmp_path / name / "part.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    seen: list[ModuleType] = []
    back = once_imported((f"{name}.part",), seen.append)
    values: list[int] = []
    threads = [
        threading.Thread(target=lambda module=module: values.append(importlib.import_module(module).VALUE), daemon=True)
        for module in (name, f"{name}.part")
    ]
    try:
        threads[0].start()
        while not hasattr(sys.modules.get(name), "other"):
            time.sleep(0.001)
        threads[1].start()
        time.sleep(0.1)
        sys.modules[name].other.set()
        for thread in threads:
            thread.join(10)
    finally:
        back()
        for one in (name, f"{name}.part"):
            monkeypatch.delitem(sys.modules, one, raising=False)
    assert values == [7, 7], "the threads wait for one another"
    assert [module.__name__ for module in seen] == [f"{name}.part"]


def _ignore(module: ModuleType) -> None:
    pass


class TestOnceImported:
    @pytest.fixture
    def name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
        name = "recall_waited_for"
        (tmp_path / f"{name}.py").write_text("VALUE = 7\n")
        monkeypatch.syspath_prepend(tmp_path)
        yield name
        sys.modules.pop(name, None)

    def test_each_call_is_taken_back_by_itself(self, name: str) -> None:
        seen: list[str] = []

        def see(module: ModuleType) -> None:
            seen.append(module.__name__)

        first, second = once_imported((name,), see), once_imported((name, "recall_never_imported"), see)
        third = once_imported((name,), lambda module: seen.append("third"))
        first()
        assert importlib.import_module(name).VALUE == 7
        assert seen == [name, "third"], "in the order in which they were asked for"
        second()
        third()

    def test_a_package_that_waits_for_the_module_as_well_is_called(self, name: str) -> None:
        seen: list[str] = []
        # As ddtrace does; the loader becomes a proxy, at which what is set is set at the loader that it stands for.
        wrapt.register_post_import_hook(lambda module: seen.append("other"), name)
        back = once_imported((name,), lambda module: seen.append("ours"))
        assert importlib.import_module(name).VALUE == 7
        assert sorted(seen) == ["other", "ours"]
        back()

    def test_all_stand_behind_one_finder_which_leaves_with_the_last(self, name: str) -> None:
        before = list(sys.meta_path)
        back = [once_imported((name,), _ignore), once_imported(("recall_never_imported",), _ignore)]
        assert len([finder for finder in sys.meta_path if finder not in before]) <= 1
        for undo in back:
            undo()
        assert sys.meta_path == before

    def test_a_list_that_a_test_has_put_back_is_left_alone(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        back = once_imported((name,), _ignore)
        before = [finder for finder in sys.meta_path if type(finder).__name__ != "_Finder"]
        monkeypatch.setattr(sys, "meta_path", before)
        back()
        assert sys.meta_path is before
