"""Client: what all memory systems behind a selector have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.memory import QueryContext


class Client:
    """A memory system behind a selector, which is its `name`.

    `private`: it lives in this process, and is empty when it is made. `whole`: it returns all that it would
    show a model, whatever the limit. `answers_only`: it answers questions, and hands out no passages. `concurrent`:
    several threads may ask it at once.
    """

    private = False
    whole = False
    answers_only = False
    concurrent = False

    def __init__(self, name: str) -> None:
        self.name = name

    def ready(self) -> None:
        """Raise MemoryFault if something is missing here: a package, a program. Nothing is asked."""

    def reset(self) -> Any:
        """Forget everything."""
        raise NotImplementedError

    def store(self, content: str, metadata: Mapping[str, str]) -> Any:
        """Keep a text."""
        raise NotImplementedError

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return passages, the best first."""
        raise NotImplementedError

    def answer(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return the system's own answer, None if it gives none."""
        return None

    def finalize(self) -> Any:
        """Take note that all is stored."""

    def count(self) -> Any:
        """Return how many units it holds, None if it does not say."""
        return None

    def healthcheck(self) -> Any:
        """Raise MemoryFault if it cannot be used."""

    def close(self) -> Any:
        """Let go of processes, connections and files."""
