"""Tantivy: full-text search over an index in memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.memory import MemoryFault, QueryContext
from pytest_recall.core.trial import Passage
from pytest_recall.memory.client import Client


class Tantivy(Client):
    """An index in memory with Tantivy's default tokenizer and BM25; a question's words are joined by OR.

    Needs `pytest-recall[memory-tantivy]`.
    """

    private = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._units: list[Passage] = []
        self._index: Any = None
        self._writer: Any = None

    def ready(self) -> None:
        """Raise MemoryFault if the package is not installed."""
        _package()

    def reset(self) -> None:
        """Forget everything."""
        self._units.clear()
        self._index = self._writer = None

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        tantivy = _package()
        if self._index is None:
            schema = tantivy.SchemaBuilder().add_text_field("content").add_integer_field("place", stored=True).build()
            self._index = tantivy.Index(schema)
        if self._writer is None:
            self._writer = self._index.writer(num_threads=1)
        self._writer.add_document(tantivy.Document(content=content, place=len(self._units)))
        self._units.append(Passage(text=content, source=metadata.get("id")))

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the best units."""
        if self._index is None:
            return []
        if self._writer is not None:
            self._writer.commit()
            self._writer.wait_merging_threads()
            self._writer = None
            self._index.reload()
        # What stands in quotes is words; a quote or a backslash within is none.
        words = [word for word in query.replace('"', " ").replace("\\", " ").split() if any(map(str.isalnum, word))]
        if not words:
            return []
        asked = self._index.parse_query(" ".join(f'"{word}"' for word in words), ["content"])
        searcher = self._index.searcher()
        hits = searcher.search(asked, limit=max(limit, len(self._units))).hits
        found = [(float(score), int(searcher.doc(at).get_first("place"))) for score, at in hits]
        best = sorted(found, key=lambda one: (-one[0], one[1]))[:limit]
        return [Passage(text=self._units[n].text, source=self._units[n].source, score=score) for score, n in best]

    def count(self) -> int:
        """Return how many units it holds."""
        return len(self._units)


def _package() -> Any:
    try:
        import tantivy
    except ImportError:
        raise MemoryFault("needs tantivy; run `pip install 'pytest-recall[memory-tantivy]'`") from None
    return tantivy
