"""Await the calls of a case on the event loop on which another plugin has set up its async fixtures.

pytest itself sets up no async fixture. A plugin that does, such as pytest-asyncio or anyio, has a loop for it, and
what such a fixture gives, such as a client with open connections, is of use on that loop only.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from inspect import isasyncgenfunction, isawaitable, ismethod
from typing import Any
from weakref import WeakKeyDictionary

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.plugin.pytest_internals import active_fixtures, anyio_runner, set_function, value_of
from pytest_recall.replay.open_tapes import carried
from pytest_recall.trials.concurrency import run_awaitable
from pytest_recall.trials.execution import Awaiter

SCOPES = ("function", "class", "module", "package", "session")
"""From the shortest life to the longest."""
Values = Sequence[tuple[ContextVar[Any], Any]]
"""What an async function takes along: a plugin may run it in a task that is older than the case, as anyio's does."""


@contextmanager
def run_in_case(item: Any) -> Iterator[None]:
    """Have an async test take along whose it is, while it is called in this block."""
    function, values = item.obj, carried(False)

    @functools.wraps(function)
    async def test(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with _set(values):
            return await function(*args, **kwargs)

    item.obj = test
    try:
        yield
    finally:
        item.obj = function


@contextmanager
def _set(values: Values) -> Iterator[None]:
    tokens = [(variable, variable.set(value)) for variable, value in values]
    try:
        yield
    finally:
        for variable, token in tokens:
            variable.reset(token)


class FixtureLoops:
    """The loops of the async fixtures that are set up; None stands for one that is not asyncio's."""

    def __init__(self) -> None:
        self._loops: WeakKeyDictionary[Any, asyncio.AbstractEventLoop | None] = WeakKeyDictionary()

    @contextmanager
    def noted(self, definition: Any) -> Iterator[None]:
        """Note on which loop an async fixture runs, and have it take along whose it is, while it is set up here."""
        original = definition.func
        if ismethod(original):  # Plugins bind it to the instance of the test, and a case is in no class.
            yield
            return
        set_function(definition, self._noting(definition, original, carried(False)))
        try:
            yield
        finally:
            set_function(definition, original)

    def _noting(self, definition: Any, original: Callable[..., Any], values: Values) -> Callable[..., Any]:
        def note() -> None:
            try:
                self._loops[definition] = asyncio.get_running_loop()
            except RuntimeError:
                self._loops[definition] = None

        if isasyncgenfunction(original):

            @functools.wraps(original)
            async def generator(*args: Any, **kwargs: Any) -> Any:
                note()
                async with aclosing(original(*args, **kwargs)) as generated:
                    while True:
                        with _set(values):
                            try:
                                value = await anext(generated)
                            except StopAsyncIteration:
                                return
                        yield value

            return generator

        @functools.wraps(original)
        async def coroutine(*args: Any, **kwargs: Any) -> Any:
            note()
            with _set(values):
                return await original(*args, **kwargs)

        return coroutine

    def wait_for(self, item: pytest.Function, name: str) -> Awaiter | None:
        """Return what awaits the calls of what the fixture `name` gave; None if no plugin has a loop for it.

        The loop is that of the fixture or of one that it asks for; else that of another async fixture of the case,
        unless the function lives longer than that loop may.
        """
        active = active_fixtures(item)
        near = [one for one in _asked_for(name, active) if active[one] in self._loops]
        span = SCOPES.index(active[name].scope) if name in active else 0
        far = [one for one in active if active[one] in self._loops and SCOPES.index(active[one].scope) >= span]
        found = next(iter([*near, *far]), None)
        if found is None:
            return None
        loop = self._loops[active[found]]
        if loop is None:
            return functools.partial(_within_anyio, item)
        return None if loop.is_closed() else functools.partial(_within, loop)

    def awaited(self, given: Any, wait: Awaiter) -> Any:
        """Return a judge with a loop of its own, which need not be that of the agent."""
        if not callable(given):
            return given

        @functools.wraps(given)
        def judge(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            said = given(*args, **kwargs)
            return wait(said) if isawaitable(said) else said

        if callable(ready := getattr(given, "ready", None)):
            judge.ready = ready  # type: ignore[attr-defined]
        return judge


def _asked_for(name: str, active: dict[str, Any]) -> Generator[str, None, None]:
    """Yield a fixture and those that it asks for, the nearest first."""
    waiting, seen = [name], set[str]()
    while waiting:
        found = waiting.pop(0)
        if found in active and found not in seen:
            seen.add(found)
            waiting += active[found].argnames
            yield found


def _within(loop: asyncio.AbstractEventLoop, awaitable: Awaitable[Any]) -> Any:
    # Not closed: that would close the loop, which is its plugin's.
    return run_awaitable(asyncio.Runner(loop_factory=lambda: loop), awaitable)


def _within_anyio(item: pytest.Function, awaitable: Awaitable[Any]) -> Any:
    runner = anyio_runner(item.config, value_of(item, "anyio_backend"))
    if runner is None:
        raise RecallError(
            "its async fixtures are not on a loop of asyncio, and this release of anyio has no runner that"
            " pytest-recall knows; let the fixture `anyio_backend` return 'asyncio'"
        )
    values = carried(False)

    async def done() -> Any:
        with _set(values):
            return await awaitable

    with runner as running:
        return running.run_fixture(done, {})
