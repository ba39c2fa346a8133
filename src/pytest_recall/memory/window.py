"""Memories that do not search, as baselines: the newest units, all of them, and none."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_recall.cases.memory_part import QueryContext
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.trials.trial import Passage


class Window(MemoryAdapter):
    """The newest `size` units, the newest first; all of them, the oldest first, where `size` is None.

    They stand for what is in a model's context anyway: neither the question nor the limit matters.
    """

    private = True
    whole = True
    concurrent = True
    baseline = True

    def __init__(self, name: str, size: int | None) -> None:
        super().__init__(name)
        self._size = size
        self._units: list[Passage] = []

    def reset(self) -> None:
        """Forget everything."""
        self._units.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        self._units.append(Passage(text=content, source=metadata.get("id")))

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the window."""
        return list(self._units) if self._size is None else self._units[: -self._size - 1 : -1]

    def count(self) -> int:
        """Return how many units are in the window."""
        return len(self._units) if self._size is None else min(self._size, len(self._units))


class Null(MemoryAdapter):
    """Keeps nothing and returns nothing: what is answered without a memory."""

    private = True
    concurrent = True
    baseline = True

    def reset(self) -> None:
        """Do nothing."""

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Drop a text."""

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return nothing."""
        return []

    def count(self) -> int:
        """Return 0."""
        return 0
