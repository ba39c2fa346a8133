"""Full-text search by BM25 over the packages bm25s and tantivy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.ext import MemoryAdapter, MemoryFault, MemoryForm, MemoryKind, Passage, QueryContext


class Tantivy(MemoryAdapter):
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


class Bm25s(MemoryAdapter):
    """bm25s with its defaults (Lucene's variant, k1 = 1.5, b = 0.75), its tokenizer and no stop words.

    A unit that shares no word with the question is not returned. Needs `pytest-recall[memory-bm25s]`.
    """

    private = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._units: list[Passage] = []
        self._index: Any = None

    def ready(self) -> None:
        """Raise MemoryFault if the package is not installed."""
        _bm25_package()

    def reset(self) -> None:
        """Forget everything."""
        self._units.clear()
        self._index = None

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        self._units.append(Passage(text=content, source=metadata.get("id")))
        self._index = None

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the best units."""
        bm25s = _bm25_package()
        if not self._units:
            return []
        if self._index is None:
            texts = bm25s.tokenize([unit.text for unit in self._units], stopwords=[], show_progress=False)
            self._index = bm25s.BM25()
            self._index.index(texts, show_progress=False)
        asked = bm25s.tokenize([query], stopwords=[], show_progress=False, return_ids=False)
        scores = self._index.get_scores(asked[0]) if asked[0] else []
        ranked = sorted(((float(score), -place) for place, score in enumerate(scores) if score > 0), reverse=True)
        best = [(self._units[-place], score) for score, place in ranked[:limit]]
        return [Passage(text=unit.text, source=unit.source, score=score) for unit, score in best]

    def count(self) -> int:
        """Return how many units it holds."""
        return len(self._units)


def _bm25_package() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MemoryFault("needs bm25s; run `pip install 'pytest-recall[memory-bm25s]'`") from None
    return bm25s


BM25S = MemoryKind(
    name="bm25s",
    forms=(MemoryForm(about="BM25 by the package bm25s"),),
    make=lambda selector, context: Bm25s(selector.text),
)
TANTIVY = MemoryKind(
    name="tantivy",
    forms=(MemoryForm(about="full-text search by Tantivy"),),
    make=lambda selector, context: Tantivy(selector.text),
)
