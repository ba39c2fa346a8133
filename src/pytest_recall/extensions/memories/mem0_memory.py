"""A memory in the open-source Mem0, with or without a language model, on a local Qdrant, with our embeddings."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any

from pytest_recall.ext import (
    Ask,
    MemoryAdapter,
    MemoryContext,
    MemoryFault,
    MemoryForm,
    MemoryKind,
    MemorySelector,
    Message,
    ModelError,
    Passage,
    Provider,
    QueryContext,
    embed,
    embedded,
)

_USER = "recall"
_DIMENSIONS = 256


class _Embedder:
    """Embeddings, by the methods that Mem0 asks for them."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embed(text)

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        rows: list[list[float]] = embedded(texts).tolist()
        return rows


MAX_TOKENS = 2_000
"""The tokens of a reply, as Mem0 has them by default."""
_TEXT = {"type": "string"}
_FACT = {
    "type": "object",
    "properties": {"text": _TEXT, "attributed_to": _TEXT},
    "required": ["text", "attributed_to"],
    "additionalProperties": False,
}
_FACTS = {
    "type": "object",
    "properties": {"memory": {"type": "array", "items": _FACT}},
    "required": ["memory"],
    "additionalProperties": False,
}


class _Extractor:
    """A model, by the method that Mem0 asks for facts."""

    def __init__(self, model: Provider) -> None:
        self._model = model

    def generate_response(self, messages: list[dict[str, str]], **settings: Any) -> str:
        system = "\n\n".join(one["content"] for one in messages if one["role"] == "system")
        said = tuple(Message(one["role"], one["content"]) for one in messages if one["role"] != "system")
        ask = Ask(messages=said, system=system, max_tokens=MAX_TOKENS, temperature=0.0, schema=_FACTS)
        reply = self._model.ask(ask)
        if reply.stop != "end":
            # Mem0 takes a reply that it cannot read for one without facts.
            why = "refused" if reply.stop == "refused" else f"did not end within {MAX_TOKENS:,} tokens"
            raise ModelError(f"{self._model.name} {why} when Mem0 asked it for facts; name another model")
        return reply.text


class Mem0(MemoryAdapter):
    """`Memory` of mem0ai on a Qdrant in memory: `add` and `search`; score is Mem0's.

    Without a model `add(infer=False)` keeps texts as they are. With one, Mem0 asks it at each text for the facts
    in it and keeps these: they are no unit any more, so that passages have no source and nothing is counted.
    Nothing else is fetched or sent, unless the project has imported Mem0 before: its telemetry is off, and what it
    writes for itself goes into a folder that is deleted. Needs `pytest-recall[memory-mem0]`.
    """

    private = True

    def __init__(self, name: str, model: Provider | None = None) -> None:
        super().__init__(name)
        self.model = model
        if model is not None and (model.observable or model.elsewhere):
            self.elsewhere = "its model is not one of a provider"
        self._memory: Any = None
        self._sources: dict[str, str | None] = {}

    def ready(self) -> None:
        """Raise MemoryFault if a package is not installed, or something is missing for the model."""
        embed("ready")
        with _quiet():
            _packages()
        if self.model is not None:
            try:
                self.model.ready()
            except ModelError as error:
                raise MemoryFault(str(error)) from error

    def reset(self) -> None:
        """Forget everything."""
        if self.model is None:
            with _quiet():
                self._made().delete_all(user_id=_USER)
        else:
            # Mem0 deletes memories, and goes on showing the model the last messages of before.
            self._closed()
        self._sources.clear()

    def store(self, content: str, metadata: Mapping[str, str]) -> None:
        """Keep a text, or the facts that the model finds in it."""
        if self.model is not None:
            self._learn(content, metadata)
            return
        about = {key: value for key, value in metadata.items() if key != "id"}
        with _quiet():
            added = self._made().add(content, user_id=_USER, metadata=about, infer=False)
        for one in added["results"]:
            self._sources[one["id"]] = metadata.get("id")

    def _learn(self, content: str, metadata: Mapping[str, str]) -> None:
        date = metadata.get("date")
        told = date and f"The new messages are of {date}: that, and not today, is what times in them are relative to."
        with _quiet():
            memory = self._made()
            from mem0.exceptions import LLMError

            try:
                memory.add(content, user_id=_USER, metadata=dict(metadata), infer=True, prompt=told)
            except LLMError as error:
                if isinstance(error.__cause__, ModelError):
                    raise MemoryFault(str(error.__cause__)) from error
                raise

    def recall(self, query: str, limit: int, context: QueryContext) -> list[Passage]:
        """Return what Mem0 finds."""
        with _quiet():
            found = self._made().search(query, filters={"user_id": _USER}, top_k=limit, threshold=0.0)
        return [
            Passage(text=one["memory"], source=self._sources.get(one["id"]), score=float(one["score"]))
            for one in found["results"]
        ]

    def count(self) -> int | None:
        """Return how many units it holds; None where it holds facts."""
        if self.model is not None:
            return None
        with _quiet():
            most = len(self._sources) + 1
            return len(self._made().get_all(filters={"user_id": _USER}, top_k=most)["results"])

    def close(self) -> None:
        """Close its databases, and the model."""
        self._closed()
        if self.model is not None:
            self.model.close()

    def _closed(self) -> None:
        if self._memory is not None:
            with _quiet():
                self._memory.close()
            self._memory = None

    def _made(self) -> Any:
        if self._memory is None:
            memory, qdrant = _packages()
            self._memory = memory.from_config(
                {
                    # Neither of the two is asked; they only have to be made, and ours take their places.
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
            if self.model is not None:
                self._memory.llm = _Extractor(self.model)
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


def _client(selector: MemorySelector, context: MemoryContext) -> Mem0:
    return Mem0(selector.text, context.model(selector.target) if selector.target else None)


KIND = MemoryKind(
    name="mem0",
    forms=(
        MemoryForm(about="Mem0 without a model, on a local Qdrant, with our embeddings", title="mem0 (no model)"),
        MemoryForm(
            about="Mem0 as it is used: that model finds the facts in what is told",
            target="MODEL",
            example="openai:gpt-5.4-mini",
            models="here",
        ),
    ),
    make=_client,
)
