"""Memory: what a memory system is asked to do, whoever stands behind it, and what it is given to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from pytest_recall.core.errors import RecallError


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """When and where a memory is asked; None where nobody says.

    `session` is the id of the conversation in which the question comes up, `date` its day as text,
    `checkpoint` the name of the point of a longer history after which it is asked.
    """

    session: str | None = None
    date: str | None = None
    checkpoint: str | None = None

    def to_json(self) -> dict[str, str]:
        """Return plain JSON types; what nobody says is left out."""
        given = {"session": self.session, "date": self.date, "checkpoint": self.checkpoint}
        return {name: value for name, value in given.items() if value is not None}


@runtime_checkable
class MemoryClient(Protocol):
    """A memory system. Each method may be sync or async.

    It may also have `answer(query, limit, context)`, which returns text or None; `finalize()`, called
    when all is stored; `count()`, how many units it holds; `healthcheck()`, which raises if it cannot
    be used; and `close()`. A method that is absent is not called.
    """

    def reset(self) -> Any:
        """Forget everything."""
        ...

    def store(self, content: str, metadata: Mapping[str, str]) -> Any:
        """Keep a text; of a case, `metadata` has its `id`, and `session`, `date` and `speaker` of a turn."""
        ...

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return at most `limit` passages, the best first: texts, Passages, or mappings with `text`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """A text that is stored in one piece. `metadata` has at least its `id`."""

    id: str
    content: str
    metadata: Mapping[str, str] = field(default_factory=dict)


class MemoryFault(RecallError):  # noqa: N818 - MemoryError means something else
    """A memory system that did not do what it was asked: one sentence, with what to do."""
