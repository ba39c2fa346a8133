"""Dense retrieval: rank units by the cosine of embeddings, and fuse the ranks with full-text search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files.errors import RecallError
from pytest_recall.memory.client import MemoryAdapter
from pytest_recall.trials.trial import Passage

if TYPE_CHECKING:
    from numpy.typing import NDArray

K = 60
"""The constant of reciprocal rank fusion, as in its paper."""
POOL = 100
"""How far down each list is looked through before they are fused, or the limit where that is more."""


def embed(text: str) -> list[float]:
    """Return the embedding of `text` by the small model of the judge `similarity`: 256 numbers, of length 1.

    A text without a word that the model knows has length 0. Raises MemoryFault where it is not installed.
    """
    return [float(number) for number in embedded([text])[0]]


def embedded(texts: Sequence[str]) -> NDArray[Any]:
    """Return a row for each of `texts`, as `embed` has it: many at once take a fraction of the time."""
    from pytest_recall.judges.built_in import model

    try:
        words = model()
    except RecallError as error:
        raise MemoryFault(str(error)) from error
    import numpy

    found = numpy.asarray(words.embed(list(texts)), dtype=numpy.float64)
    lengths = numpy.linalg.norm(found, axis=1, keepdims=True)
    scaled: NDArray[Any] = found / numpy.where(lengths > 0, lengths, 1.0)
    return scaled


def _grown(rows: NDArray[Any] | None, held: int, width: int) -> NDArray[Any]:
    """Return room for twice as many rows, with those that are there."""
    import numpy

    found: NDArray[Any] = numpy.empty((max(2 * held, 64), width), dtype=numpy.float64)
    if rows is not None:
        found[:held] = rows
    return found


def _highest(scores: NDArray[Any], limit: int) -> NDArray[Any]:
    """Return where the `limit` highest scores are, from the highest on; of equal ones the first is first."""
    import numpy

    places: NDArray[Any] = numpy.arange(len(scores))
    if limit < len(scores):
        # Sorting a few is faster than sorting all; whatever equals the last of them stays in.
        places = numpy.flatnonzero(scores >= numpy.partition(scores, -limit)[-limit])
    return places[numpy.argsort(-scores[places], kind="stable")][:limit]


class Embedding(MemoryAdapter):
    """Exact search: every unit is compared with the question, score = cos(question, unit) in -1..1.

    Of equal scores the unit stored first is first. Needs `pytest-recall[similarity]`.
    """

    private = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._units: list[Passage] = []
        # A row for each unit, and room for more. It is doubled where it is full: a unit costs the same at any size.
        self._rows: NDArray[Any] | None = None

    def ready(self) -> None:
        """Raise MemoryFault if the model is not installed."""
        embed("ready")

    def reset(self) -> None:
        """Forget everything."""
        self._units.clear()
        self._rows = None

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        (vector,) = embedded([content])
        held = len(self._units)
        if self._rows is None or held == len(self._rows):
            self._rows = _grown(self._rows, held, len(vector))
        self._rows[held] = vector
        self._units.append(Passage(text=content, source=metadata.get("id")))

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the nearest units."""
        if self._rows is None:
            return []
        import numpy

        # Rounded, so that the same texts have the same score whatever the order of the sum.
        scores = numpy.round(self._rows[: len(self._units)] @ embedded([query])[0], 12)
        places = _highest(scores, limit)
        found = [(self._units[place], float(scores[place])) for place in places]
        return [Passage(text=unit.text, source=unit.source, score=score) for unit, score in found]

    def count(self) -> int:
        """Return how many units it holds."""
        return len(self._units)


class Hybrid(MemoryAdapter):
    """Lists of several memories in one, by reciprocal rank fusion (Cormack, Clarke and Büttcher 2009).

    score(unit) = sum over the lists of 1 / (60 + rank), ranks counted from 1; a list without the unit adds
    nothing. Of equal scores the unit stored first is first.
    """

    private = True

    def __init__(self, name: str, *parts: MemoryAdapter) -> None:
        super().__init__(name)
        self._parts = parts
        self._units: list[Passage] = []

    def ready(self) -> None:
        """Raise MemoryFault if something is missing for one of them."""
        for part in self._parts:
            part.ready()

    def reset(self) -> None:
        """Forget everything."""
        self._units.clear()
        for part in self._parts:
            part.reset()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text in each."""
        # Inside, units are known by their place: ids of the caller's may be absent, or occur twice.
        place = {**metadata, "id": str(len(self._units))}
        self._units.append(Passage(text=content, source=metadata.get("id")))
        for part in self._parts:
            part.store(content, place)

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return the units with the highest sums."""
        sums: dict[int, float] = {}
        for part in self._parts:
            for rank, passage in enumerate(part.recall(query, max(limit, POOL), context), 1):
                place = int(passage.source or 0)
                sums[place] = sums.get(place, 0.0) + 1 / (K + rank)
        best = sorted(sums, key=lambda place: (-sums[place], place))[:limit]
        return [
            Passage(text=self._units[place].text, source=self._units[place].source, score=sums[place]) for place in best
        ]

    def count(self) -> int:
        """Return how many units it holds."""
        return len(self._units)

    def close(self) -> None:
        """Let go of each."""
        for part in self._parts:
            part.close()
