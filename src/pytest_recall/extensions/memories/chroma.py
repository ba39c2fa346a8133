"""A memory in a Chroma collection, with our embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from pytest_recall.ext import (
    MemoryAdapter,
    MemoryFault,
    MemoryForm,
    MemoryKind,
    Passage,
    QueryContext,
    embed,
    embedded,
)

BATCH = 1_000
"""Units that the collection is handed at once: one at a time each takes it as long as hundreds."""


class Chroma(MemoryAdapter):
    """A collection of an ephemeral client, by cosine distance; score = 1 - distance.

    Chroma's own embedding function would fetch a model: it is handed vectors instead. Units wait for one another, and
    are in the collection when all are told, or when it is asked.
    Needs `pytest-recall[memory-chromadb]`.
    """

    private = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        # The ephemeral clients of a process share one store: the collection is known by its name alone.
        self._called = f"recall-{uuid4().hex}"
        self._client: Any = None
        self._collection: Any = None
        self._waiting: list[tuple[str, dict[str, str]]] = []

    def ready(self) -> None:
        """Raise MemoryFault if a package is not installed."""
        _package()
        embed("ready")

    def reset(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._made()
        self._client.delete_collection(self._called)
        self._collection = None

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        self._waiting.append((content, dict(metadata)))
        if len(self._waiting) == BATCH:
            self._filled()

    def finalize(self) -> None:
        """Hand the collection what is left."""
        self._filled()

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the nearest units."""
        collection = self._filled()
        most = min(limit, collection.count())
        if not most:
            return []
        found = collection.query(
            query_embeddings=[embed(query)], n_results=most, include=["documents", "metadatas", "distances"]
        )
        rows = zip(found["documents"][0], found["metadatas"][0], found["distances"][0], strict=True)
        return [Passage(text=text, source=about.get("id"), score=1 - float(far)) for text, about, far in rows]

    def count(self) -> int:
        """Return how many units it holds."""
        return int(self._filled().count())

    def close(self) -> None:
        """Forget everything, and the collection."""
        if self._collection is not None:
            self.reset()

    def _filled(self) -> Any:
        """Return the collection with all that was told."""
        collection = self._made()
        if self._waiting:
            held = collection.count()
            texts = [content for content, _ in self._waiting]
            collection.add(
                ids=[f"{held + n:09}" for n in range(len(texts))],
                documents=texts,
                embeddings=embedded(texts),
                metadatas=[about for _, about in self._waiting],
            )
            self._waiting.clear()
        return collection

    def _made(self) -> Any:
        if self._collection is None:
            chromadb = _package()
            self._client = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
            self._collection = self._client.get_or_create_collection(
                self._called, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None
            )
        return self._collection


def _package() -> Any:
    try:
        import chromadb
    except ImportError:
        raise MemoryFault("needs chromadb; run `pip install 'pytest-recall[memory-chromadb]'`") from None
    return chromadb


KIND = MemoryKind(
    name="chromadb",
    forms=(MemoryForm(about="a collection of Chroma in memory, with our embeddings"),),
    make=lambda selector, context: Chroma(selector.text),
)
