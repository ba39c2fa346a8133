"""Give a context variable a value for a while."""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Generic, TypeVar

T = TypeVar("T")


class assigned(Generic[T]):  # noqa: N801, as `contextlib.suppress`; a generator takes three times as long
    """Let a context variable have a value in a `with` block."""

    __slots__ = ("_token", "_value", "_variable")
    _token: Token[T]

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable, self._value = variable, value

    def __enter__(self) -> None:
        self._token = self._variable.set(self._value)

    def __exit__(self, *raised: object) -> None:
        self._variable.reset(self._token)
