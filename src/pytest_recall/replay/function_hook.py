"""Hook a library function by replacing its code object, so that mocks of the attribute stay in front.

A mock replaces the attribute of a class, and keeps what it found there for the requests that it passes through. So the
code of the function is changed here, and not the attribute: all that holds the function calls the hook, and a mock
stays in front of it, whether it began before or after.
"""

from __future__ import annotations

import functools
import gc
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeGuard

Undo = Callable[[], None]

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
    code, attributes = function.__code__, function.__dict__
    original = FunctionType(code, function.__globals__, function.__name__, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__
    signature = attributes.get("__signature__")
    original.__dict__.update({"__signature__": inspect.signature(function), _ORIGINAL: True})
    hook = wrap(original)
    # Mocks read the signature; `origin` and tracebacks read the file and the names of the code.
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
