"""A memory in the open-source Mem0, without a language model, on a local Qdrant, with our embeddings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.memory.client import Client
from pytest_recall.memory.dense import embed
from pytest_recall.trials.trial import Passage

_USER = "recall"
_DIMENSIONS = 256


class _Embedder:
    """Embeddings, by the methods that Mem0 asks for them."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [embed(text) for text in texts]


class Mem0(Client):
    """`Memory` of mem0ai: `add(infer=False)`, so that texts are kept as they are, and `search`; score is Mem0's.

    Nothing is fetched or sent, unless the project has imported Mem0 before: its telemetry is off, and what it
    writes for itself goes into a folder that is deleted. Needs `pytest-recall[memory-mem0]`.
    """

    private = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._memory: Any = None
        self._sources: dict[str, str | None] = {}

    def ready(self) -> None:
        """Raise MemoryFault if a package is not installed."""
        embed("ready")
        with _quiet():
            _packages()

    def reset(self) -> None:
        """Forget everything."""
        with _quiet():
            self._made().delete_all(user_id=_USER)
        self._sources.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text."""
        about = {key: value for key, value in metadata.items() if key != "id"}
        with _quiet():
            added = self._made().add(content, user_id=_USER, metadata=about, infer=False)
        for one in added["results"]:
            self._sources[one["id"]] = metadata.get("id")

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return what Mem0 finds."""
        with _quiet():
            found = self._made().search(query, filters={"user_id": _USER}, top_k=limit, threshold=0.0)
        return [
            Passage(text=one["memory"], source=self._sources.get(one["id"]), score=float(one["score"]))
            for one in found["results"]
        ]

    def count(self) -> int:
        """Return how many units it holds."""
        with _quiet():
            most = len(self._sources) + 1
            return len(self._made().get_all(filters={"user_id": _USER}, top_k=most)["results"])

    def close(self) -> None:
        """Close its databases."""
        if self._memory is not None:
            with _quiet():
                self._memory.close()
            self._memory = None

    def _made(self) -> Any:
        if self._memory is None:
            memory, qdrant = _packages()
            self._memory = memory.from_config(
                {
                    # Neither of the two is asked; they only have to be made.
                    "llm": {"provider": "openai", "config": {"api_key": "not used"}},
                    "embedder": {
                        "provider": "openai",
                        "config": {"api_key": "not used", "embedding_dims": _DIMENSIONS},
                    },
                    "vector_store": {
                        "provider": "qdrant",
                        "config": {"client": qdrant(":memory:"), "embedding_model_dims": _DIMENSIONS},
                    },
                    "history_db_path": ":memory:",
                }
            )
            self._memory.embedding_model = _Embedder()
        return self._memory


def _packages() -> tuple[Any, Any]:
    """Return the classes of Mem0 and Qdrant, imported with telemetry off."""
    try:
        with TemporaryDirectory(prefix="recall-") as folder, _environment(MEM0_TELEMETRY="False", MEM0_DIR=folder):
            from mem0 import Memory
            from qdrant_client import QdrantClient
    except ImportError:
        raise MemoryFault("needs mem0ai; run `pip install 'pytest-recall[memory-mem0]'`") from None
    return Memory, QdrantClient


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep back the warnings of Qdrant's local mode, such as that an index has no effect there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
