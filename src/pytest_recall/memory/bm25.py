"""BM25 by the package bm25s, over an index that is built when it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recall.core.memory import MemoryFault, QueryContext
from pytest_recall.core.trial import Passage
from pytest_recall.memory.client import Client


class Bm25s(Client):
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
        _package()

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
        bm25s = _package()
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


def _package() -> Any:
    try:
        import bm25s
    except ImportError:
        raise MemoryFault("needs bm25s; run `pip install 'pytest-recall[memory-bm25s]'`") from None
    return bm25s
