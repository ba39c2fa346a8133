"""Set up the fixtures of an item before its turn, and keep them until then.

pytest sets up one item at a time. An item that is set up early is taken off its stack of what is set up, and put back
at its turn; its own fixtures are copies of pytest's definitions, since these hold the values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from functools import partial
from typing import Any, NamedTuple

import pytest

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.plugin.output import SINK, Sink
from pytest_recall.plugin.pytest_internals import (
    closure_of,
    definitions,
    error_of,
    fixtures_of,
    fresh_copy,
    is_async,
    set_closure,
    setup_state,
)
from pytest_recall.replay.open_tapes import CURRENT_CASE, CaseContext
from pytest_recall.trials.concurrency import TrialJob
from pytest_recall.trials.execution import Result

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
        """What its setup raised."""
        return error_of(self.raised)


class NeedsAlone(BaseException):
    """A fixture asked, while it was set up, for one that only a case on its own may have."""


class _Own(dict[str, Sequence[Any]]):
    """The fixture definitions of one item, with copies of those that are its own, and of more as it asks for them."""

    def __init__(self, item: pytest.Function, shared: Mapping[str, Sequence[Any]]) -> None:
        super().__init__((name, _copies(definitions)) for name, definitions in shared.items())
        self._item = item
        self.is_early = True

    def get(self, name: str, default: Any = None) -> Any:
        case = CURRENT_CASE.get()
        if case is not None and case.is_at_once and not self.is_early:
            raise RecallError(
                f"asked for the fixture `{name}` while it ran, which has to be set up before with --recall-concurrency;"
                " name it as an argument of the fixture that uses it"
            )
        if name not in self:
            found = definitions(self._item, name)
            if not found:
                return default
            if needs_alone(name, found) and self.is_early:
                raise NeedsAlone(name)
            self[name] = _copies(found)
        return self[name]

    def copy(self) -> _Own:
        """Return itself: before pytest 9.1 a request looks names up in a copy, which has to give the item its own."""
        return self


def needs_alone(name: str, found: Sequence[Any]) -> bool:
    """Whether only a case on its own may have a fixture, whose definitions were `found`.

    The event loop of an async fixture is run by whichever case waits, one at a time.
    """
    return name in GLOBAL or (bool(found) and is_async(found[-1]))


def _copies(definitions: Sequence[Any]) -> Sequence[Any]:
    return [fresh_copy(definition) if definition.scope in NARROW else definition for definition in definitions]


def set_up(item: pytest.Function, context: Callable[[], Context]) -> PreparedItem | None:
    """Set up `item` and what it lies in, and take it off pytest's stack. What its setup raises is kept.

    Its finalizers will run in `context`, in which its setup has run.

    Returns None if what it lies in could not be set up, which pytest says at its turn. Raises NeedsAlone, and what
    ends a whole session at once, after its fixtures are torn down again.
    """
    # Before pytest 8.3 what a setup raised is raised again with all the frames that it came through.
    __tracebackhide__ = True
    shared = closure_of(item)
    own = _Own(item, fixtures_of(item))
    set_closure(item, shared, own)
    state = setup_state(item.session)
    try:
        state.setup(item)
    except OUTCOMES:
        if item not in state.stack:
            set_closure(item, shared)
            return None
    except BaseException:
        if item in state.stack:
            tear_down(_detached(item, context))
        set_closure(item, shared)
        raise
    own.is_early = False
    return _detached(item, context)


def _detached(item: pytest.Function, context: Callable[[], Context]) -> PreparedItem:
    state = setup_state(item.session)
    entry = PreparedItem(*state.stack.pop(item))
    entry.finalizers[:] = [partial(_run, context(), finalizer) for finalizer in entry.finalizers]
    return entry


def _run(context: Context, finalizer: Any) -> None:
    __tracebackhide__ = True
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
    state = setup_state(item.session)
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


class Prefetch:
    """What was begun of one case before its turn."""

    def __init__(self, lane: CaseContext) -> None:
        self.lane = lane
        self.context = Context()
        self.sink = Sink()
        self.said = self.sink.taken()
        self.entry: PreparedItem | None = None
        self.job: TrialJob | None = None
        self.begin = clock.wall()
        self.seconds = 0.0

    def enter(self) -> Context:
        """Return the context of the case: what holds here, which is set up for all, and what is its own."""
        self.context = copy_context()
        self.context.run(CURRENT_CASE.set, self.lane)
        self.context.run(SINK.set, self.sink)
        return self.context

    @property
    def exits(self) -> bool:
        """Whether its setup ends the session, when its turn comes."""
        return self.entry is not None and isinstance(self.entry.error, pytest.exit.Exception)

    def result(self) -> Result:
        """Wait for the result; raises what the agent or a judge raised."""
        __tracebackhide__ = True
        assert self.job is not None
        result: Result = self.job.result()
        return result
