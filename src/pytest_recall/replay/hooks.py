"""Hook into libraries: beneath a method, after the import of a module, and into threads that are started.

A mock replaces the attribute of a class, and keeps what it found there for the requests that it passes through. So the
code of the function is changed here, and not the attribute: all that holds the function calls the hook, and a mock
stays in front of it, whether it began before or after.
"""

from __future__ import annotations

import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import inspect
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from contextvars import Context, ContextVar
from types import FunctionType, ModuleType
from typing import Any, TypeGuard

Undo = Callable[[], None]
"""Takes back what was put in place."""

_HOOK = "the hook"
"""The constant of a template that stands for the hook."""
_ORIGINAL = "recall_original"


def put_beneath(owner: type, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Undo:
    """Let calls of the method `name` of `owner` reach `wrap(original)`, if no mock answers them.

    Where the method is not written in Python, or needs its closure, the attribute is replaced as usual.
    """
    function = defined(owner, name)
    if function is None or function.__code__.co_freevars:
        found = getattr(owner, name)
        setattr(owner, name, wrap(found))
        return functools.partial(setattr, owner, name, found)
    return put_beneath_function(function, wrap)


def put_beneath_function(function: FunctionType, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Undo:
    """Let calls of a function that needs no closure reach `wrap(original)`, by whichever name it is called."""
    code, attributes = function.__code__, function.__dict__
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__
    signature = attributes.get("__signature__")
    original.__dict__.update({"__signature__": inspect.signature(function), _ORIGINAL: True})
    hook = wrap(original)
    # Mocks read the signature; tracebacks read the file and the names of the code.
    attributes["__signature__"] = inspect.signature(function)
    template = (_call_async if inspect.iscoroutinefunction(function) else _call).__code__
    function.__code__ = template.replace(
        co_consts=tuple(hook if constant == _HOOK else constant for constant in template.co_consts),
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
    )

    def undo() -> None:
        function.__code__ = code
        if signature is None:
            attributes.pop("__signature__", None)
        else:
            attributes["__signature__"] = signature

    return undo


def defined(owner: type, name: str) -> FunctionType | None:
    """Return the method that `owner` was defined with, whatever stands in its place; None if it is not in Python."""

    def is_it(value: object) -> TypeGuard[FunctionType]:
        return (
            type(value) is FunctionType
            and value.__code__.co_qualname == f"{owner.__qualname__}.{name}"
            and value.__globals__.get(owner.__name__) is owner
            and _ORIGINAL not in value.__dict__
        )

    found = inspect.unwrap(getattr(owner, name), stop=is_it)
    if is_it(found):
        return found
    return next(filter(is_it, _objects()), None)  # A mock stands there, and only it knows what it has replaced.


def _objects() -> list[Any]:
    """Return all objects, also those that were put aside by `gc.freeze`."""
    frozen = gc.get_freeze_count() > 1_000  # Python 3.12 begins with some 400 of its own.
    gc.unfreeze()
    try:
        return gc.get_objects()
    finally:
        if frozen:
            gc.freeze()


def _call(*args: Any, **kwargs: Any) -> Any:
    hook: Any = "the hook"
    return hook(*args, **kwargs)


async def _call_async(*args: Any, **kwargs: Any) -> Any:
    hook: Any = "the hook"
    return await hook(*args, **kwargs)


def once_imported(names: Collection[str], do: Callable[[ModuleType], None]) -> Undo:
    """Call `do` with each module of `names` that is loaded, and with each other one right after it is imported."""
    wanted = functools.partial(do)  # Two calls with the same function are taken back each by itself.
    _finder.add(names, wanted)
    for name in names:
        if sys.modules.get(name) is not None:
            do(importlib.import_module(name))  # waits for a thread that is importing it
    return functools.partial(_finder.remove, names, wanted)


class _Finder(importlib.abc.MetaPathFinder):
    """The one finder for all modules that are waited for: each import of a test asks it."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Callable[[ModuleType], None], ...]] = {}
        self._looking = threading.local()

    def add(self, names: Collection[str], do: Callable[[ModuleType], None]) -> None:
        for name in names:
            self._waiting[name] = (*self._waiting.get(name, ()), do)
        self._leave()  # In front again of what was put there since: `_found` asks the others.
        sys.meta_path.insert(0, self)

    def remove(self, names: Collection[str], do: Callable[[ModuleType], None]) -> None:
        for name in names:
            rest = tuple(other for other in self._waiting[name] if other is not do)
            if rest:
                self._waiting[name] = rest
            else:
                del self._waiting[name]
        if not self._waiting:
            self._leave()

    def _leave(self) -> None:
        with suppress(ValueError):  # A test that puts back the list that it found may have taken it out.
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._waiting or getattr(self._looking, "now", False):
            return None
        self._looking.now = True
        try:
            spec = _found(fullname, path, target)
        finally:
            self._looking.now = False
        if spec is None or spec.loader is None:
            return None
        loader = spec.loader
        before, execute = getattr(loader, "__dict__", {}).get("exec_module"), loader.exec_module

        def exec_module(module: ModuleType) -> None:
            # What the loader had is put back, and not its method: a proxy, as of wrapt, hands that to what it wraps.
            if before is None:
                del loader.exec_module
            else:
                loader.exec_module = before  # type: ignore[method-assign]
            execute(module)
            for do in self._waiting.get(fullname, ()):
                do(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


_finder = _Finder()


def _found(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    """Return what the other finders find.

    `importlib.util.find_spec` would wait for the package, which another thread may be importing, and which waits for
    this module in turn.
    """
    for finder in list(sys.meta_path):
        spec = finder.find_spec(fullname, path, target) if hasattr(finder, "find_spec") else None
        if spec is not None:
            return spec
    return None


def carry(values: Callable[[bool], Sequence[tuple[ContextVar[Any], Any]]]) -> list[Undo]:
    """Let threads that are started have these variables with their values, and return how to take it back.

    `values` is called where a thread is started, with True, and where work is handed to an executor or a runner, with
    False. Tasks of asyncio have the values anyway, but for those of a runner, which keeps the context in which it was
    begun. A thread of an executor has those of whoever submitted what it works on, and afterwards, for what is called
    back when that is done, those of a thread that was started there. Other variables stay behind, as without us.
    """
    from concurrent.futures import ThreadPoolExecutor  # a run that neither records nor replays has no use for it

    start: Any = threading.Thread.start
    submit: Any = ThreadPoolExecutor.submit

    @functools.wraps(start)
    def started(self: threading.Thread) -> None:
        taken, run = values(True), self.run
        if taken:

            def within() -> None:
                vars(self).pop("run", None)  # Of several sessions in one process each has put its own there.
                for variable, value in taken:
                    variable.set(value)
                run()

            self.run = within  # type: ignore[method-assign]
        start(self)

    @functools.wraps(submit)
    def submitted(self: ThreadPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        taken, afterwards = values(False), values(True)

        def within() -> Any:
            for variable, value in taken:
                variable.set(value)
            try:
                return fn(*args, **kwargs)
            finally:
                for variable, value in afterwards:
                    variable.set(value)

        return submit(self, within)

    threading.Thread.start = started  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = submitted  # type: ignore[method-assign, assignment]
    undo: list[Undo] = [
        functools.partial(setattr, threading.Thread, "start", start),
        functools.partial(setattr, ThreadPoolExecutor, "submit", submit),
    ]
    undo.append(once_imported(("asyncio.runners",), lambda module: undo.append(_carry_to_runs(module.Runner, values))))
    return undo


def _carry_to_runs(runner: Any, values: Callable[[bool], Sequence[tuple[ContextVar[Any], Any]]]) -> Undo:
    run = runner.run

    @functools.wraps(run)
    def ran(self: Any, coro: Any, *, context: Context | None = None) -> Any:
        kept = getattr(self, "_context", None)
        if context is None and kept is not None:
            with suppress(RuntimeError):  # It runs already, which `run` says.
                for variable, value in values(False):
                    kept.run(variable.set, value)
        return run(self, coro, context=context)

    runner.run = ran
    return functools.partial(setattr, runner, "run", run)
