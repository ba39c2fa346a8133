"""Ahead: an item's fixtures set up before its turn, and kept until then.

pytest sets up one item at a time. What is needed beyond what it publishes is all in this module:
the stack of what is set up, and the definitions of an item's fixtures, which hold their values.
Both are reached from public objects, and `unfit` looks first whether they are what we know.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Sequence
from contextvars import Context
from functools import partial
from typing import Any, NamedTuple

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.player import LANE

# What these give or change is the process's own, and of no use to a case that is not alone in it.
GLOBAL = frozenset(
    {
        "recall_alone",
        "monkeypatch",
        "capsys",
        "capsysbinary",
        "capfd",
        "capfdbinary",
        "capteesys",
        "caplog",
        "recwarn",
        "pytester",
        "testdir",
        "mocker",
        "freezer",
        "fs",
        "requests_mock",
        "httpx_mock",
        "respx_mock",
        "responses",
        "aioresponses",
        "socket_disabled",
        "socket_enabled",
    }
)
OUTCOMES = (Exception, pytest.skip.Exception, pytest.fail.Exception)
"""What pytest takes for an outcome of setting up or tearing down, and not for the end of the session."""
NARROW = ("function", "class")
"""Scopes of which each case has its own; a case file has no classes."""


class PreparedItem(NamedTuple):
    """What pytest holds of an item that is set up: its finalizers, and what its setup raised."""

    finalizers: list[Any]
    raised: Any

    @property
    def error(self) -> BaseException | None:
        """What its setup raised; pytest 8.1 and later keeps the traceback with it."""
        error: BaseException | None = self.raised[0] if isinstance(self.raised, tuple) else self.raised
        return error


class NeedsAlone(BaseException):
    """A fixture asked, while it was set up, for one that only a case on its own may have."""


def unfit(session: pytest.Session) -> bool:
    """Whether this pytest is of another shape than we know, so that nothing can be set up early."""
    state, manager = getattr(session, "_setupstate", None), getattr(session, "_fixturemanager", None)
    has = (
        isinstance(getattr(state, "stack", None), dict)
        and all(callable(getattr(state, name, None)) for name in ("setup", "teardown_exact"))
        and callable(getattr(manager, "getfixturedefs", None))
        and callable(getattr(pytest.Function, "_initrequest", None))
    )
    if not has:
        return True
    known = definitions(session, "agent") or ()
    return not all(
        isinstance(getattr(one, "_finalizers", None), list) and hasattr(one, "cached_result") for one in known
    )


def definitions(node: pytest.Item | pytest.Collector, name: str) -> Sequence[Any] | None:
    """Return what pytest knows of the fixture `name` where `node` lies."""
    look_up: Any = node.session._fixturemanager.getfixturedefs
    # Releases of pytest before 8.1 ask for the id.
    by_id = "nodeid" in inspect.signature(look_up).parameters
    found: Sequence[Any] | None = look_up(name, node.nodeid if by_id else node)
    return found


class _Own(dict[str, Sequence[Any]]):
    """The fixture definitions of one item, with copies of those that are its own, and of more as it asks for them."""

    def __init__(self, item: pytest.Function, shared: dict[str, Sequence[Any]]) -> None:
        super().__init__((name, _copies(definitions)) for name, definitions in shared.items())
        self._item = item
        self.is_early = True

    def get(self, name: str, default: Any = None) -> Any:
        if LANE.get() is not None and not self.is_early:
            raise RecallError(
                f"asked for the fixture `{name}` while it ran, which has to be set up before with --recall-concurrency;"
                " name it as an argument of the fixture that uses it"
            )
        if name not in self:
            found = definitions(self._item, name)
            if not found:
                return default
            if name in GLOBAL and self.is_early:
                raise NeedsAlone(name)
            self[name] = _copies(found)
        return self[name]

    def copy(self) -> _Own:
        """Return itself: releases of pytest before 8.1 would take a dictionary that is none of these."""
        return self


def _copies(definitions: Sequence[Any]) -> Sequence[Any]:
    return [_copy(definition) if definition.scope in NARROW else definition for definition in definitions]


def _copy(definition: Any) -> Any:
    own = copy.copy(definition)
    own._finalizers, own.cached_result = [], None
    return own


def set_up(item: pytest.Function, context: Callable[[], Context]) -> PreparedItem | None:
    """Set up `item` and what it lies in, and take it off pytest's stack. What its setup raises is kept.

    Its finalizers will run in `context`, in which its setup has run.

    Returns None if what it lies in could not be set up, which pytest says at its turn. Raises NeedsAlone, and what
    ends a whole session at once, after its fixtures are torn down again.
    """
    shared = item._fixtureinfo
    own = _Own(item, shared.name2fixturedefs)
    item._fixtureinfo = dataclasses.replace(shared, name2fixturedefs=own)
    item._initrequest()
    state: Any = item.session._setupstate
    try:
        state.setup(item)
    except OUTCOMES:
        if item not in state.stack:
            _reset(item, shared)
            return None
    except BaseException:
        if item in state.stack:
            tear_down(_taken(item, context))
        _reset(item, shared)
        raise
    own.is_early = False
    return _taken(item, context)


def _taken(item: pytest.Function, context: Callable[[], Context]) -> PreparedItem:
    state: Any = item.session._setupstate
    entry = PreparedItem(*state.stack.pop(item))
    entry.finalizers[:] = [partial(_run, context(), finalizer) for finalizer in entry.finalizers]
    return entry


def _reset(item: pytest.Function, shared: Any) -> None:
    item._fixtureinfo = shared
    item._initrequest()


def _run(context: Context, finalizer: Any) -> None:
    try:
        context.run(_nothing)
    except RuntimeError:
        finalizer()  # A thread that does not come back is still in it.
    else:
        context.run(finalizer)


def _nothing() -> None:
    pass


def put_back(item: pytest.Item, entry: PreparedItem) -> None:
    """Put `item` on pytest's stack, above what it lies in, so that its setup finds nothing to do."""
    state: Any = item.session._setupstate
    state.setup(item.parent)
    state.stack[item] = tuple(entry)


def tear_down(entry: PreparedItem) -> list[BaseException]:
    """Run the finalizers of an item that is not going to run, the last first, and return what they raised."""
    raised: list[BaseException] = []
    while entry.finalizers:
        try:
            entry.finalizers.pop()()
        except OUTCOMES as error:
            raised.append(error)
    return raised
