"""Define what a case gives a memory system to store, and the requests that a memory system takes."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, WithJsonSchema, model_validator

from pytest_recall.files.errors import RecallError


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryContext:
    """When and where a memory is asked; None where it is not given."""

    session: str | None = None
    """The id of the conversation in which the question comes up."""
    date: str | None = None
    """The day of that conversation, as text."""
    checkpoint: str | None = None
    """The name of the point of a longer history after which the question is asked."""

    def to_json(self) -> dict[str, str]:
        """Return plain JSON types; what is not given is left out."""
        given = {"session": self.session, "date": self.date, "checkpoint": self.checkpoint}
        return {name: value for name, value in given.items() if value is not None}


@runtime_checkable
class MemoryClient(Protocol):
    """A memory system. Each method may be sync or async.

    It may also have `store_many(texts)`, which keeps up to 100 texts, each with its metadata;
    `answer(query, limit, context)`, which returns text or None; `finalize()`, called when all is stored;
    `count()`, how many units it holds; `healthcheck()`, which raises if it cannot be used; `is_ready()`, whether what
    was stored can be found by now; and `close()`. A method that is absent is not called.
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
    """A text that is stored in one piece."""

    id: str
    """The id by which evidence knows the text, other than that in `metadata` where that says too much."""
    content: str
    metadata: Mapping[str, str] = field(default_factory=dict)
    """Told with the text; it has at least its `id`."""
    session: str = ""
    """The id by which evidence knows the session of the text, where that in `metadata` says too much."""

    @property
    def told(self) -> str:
        """The id by which a memory knows it."""
        return self.metadata.get("id", self.id)

    @property
    def home(self) -> str:
        """The session that it is of, as evidence knows it; empty if it is of none."""
        return self.session or self.metadata.get("session", "")


class MemoryFault(RecallError):  # noqa: N818 - MemoryError means something else
    """A memory system that did not do what it was asked: one sentence, with what to do."""


MAX_LIMIT = 10_000
"""Passages that a memory may be asked for at once."""
Text = Annotated[str, Field(min_length=1)]
_ID_SCHEMA: dict[str, Any] = {"type": ["string", "null"], "minLength": 1}


class Fact(BaseModel):
    """One text that is stored as it stands, with an id and metadata of its own."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    text: Text
    id: Text | None = None
    metadata: dict[str, str] = {}

    @model_validator(mode="after")
    def _one_id(self) -> Fact:
        if "id" in self.metadata:
            raise ValueError("the id stands beside `text`, and not in `metadata`; move it")
        return self


class SpokenTurn(BaseModel):
    """What one person said; it is stored as `speaker: text`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    speaker: Text
    text: Text
    id: Text | None = None


class MemorySession(BaseModel):
    """A conversation of one day."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    id: Text
    date: Text | None = None
    turns: Annotated[tuple[SpokenTurn, ...], Field(min_length=1)]


def _fact(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


_FACT_SCHEMA = {
    "oneOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "properties": {
                "text": {"type": "string", "minLength": 1},
                "id": _ID_SCHEMA,
                "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["text"],
            "additionalProperties": False,
        },
    ]
}
WrittenFact = Annotated[Fact, BeforeValidator(_fact), WithJsonSchema(_FACT_SCHEMA)]


def _one_way(schema: dict[str, Any]) -> None:
    null, given = {"type": "null"}, {"not": {"type": "null"}}
    schema["oneOf"] = [
        {"required": ["facts"], "properties": {"facts": given, "sessions": null}},
        {"required": ["sessions"], "properties": {"sessions": given, "facts": null}},
    ]


class Stage(NamedTuple):
    """What is stored between two points at which a memory is told that all is there."""

    key: str
    """Over this stage and all before it."""
    read: Callable[[], tuple[Unit, ...]]
    """Returns the units."""


class MemoryPart(BaseModel):
    """What is stored before the question: facts, or sessions of turns."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, json_schema_extra=_one_way)

    facts: Annotated[tuple[WrittenFact, ...], Field(min_length=1)] | None = Field(
        default=None, description="Texts, each stored in one piece; `{id, text, metadata}` where one needs more."
    )
    sessions: Annotated[tuple[MemorySession, ...], Field(min_length=1)] | None = Field(
        default=None, description="Conversations, `{id, date, turns: [{speaker, text}]}`; each turn is stored."
    )

    @model_validator(mode="after")
    def _unambiguous(self) -> MemoryPart:
        if (self.facts is None) == (self.sessions is None):
            raise ValueError("give either `facts` or `sessions`")
        ids = Counter([unit.id for unit in self.units] + [session.id for session in self.sessions or ()])
        twice = [name for name, count in ids.items() if count > 1]
        if twice:
            raise ValueError(f"the id `{twice[0]}` names two things that are stored; choose another")
        return self

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """What is stored, in this order.

        A fact without an id is `fact-N`, a turn `SESSION:N`, both counted from 1.
        """
        facts = [_unit(fact.id or f"fact-{n}", fact.text, fact.metadata) for n, fact in enumerate(self.facts or (), 1)]
        turns = [
            _unit(
                turn.id or f"{session.id}:{n}",
                f"{turn.speaker}: {turn.text}",
                {
                    "session": session.id,
                    **({} if session.date is None else {"date": session.date}),
                    "speaker": turn.speaker,
                },
            )
            for session in self.sessions or ()
            for n, turn in enumerate(session.turns, 1)
        ]
        return (*facts, *turns)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What is stored up to each point at which the memory is told that all is there; most parts have one."""
        return (Stage(self.key, lambda: self.units),)

    @property
    def renames(self) -> bool:
        """Whether a memory knows units by other ids than evidence does."""
        return False

    @property
    def names(self) -> dict[str, str]:
        """What evidence calls units and sessions, by the ids that a memory knows them by."""
        sessions = {unit.metadata.get("session", ""): unit.home for unit in self.units}
        return {**sessions, **{unit.told: unit.id for unit in self.units}}

    @cached_property
    def key(self) -> str:
        """Thirty-two hex digits over what is stored: equal parts leave a memory with the same in it."""
        return key_of(self.units)


def key_of(units: Iterable[Unit]) -> str:
    """Return thirty-two hex digits over what is stored."""
    plain = [[unit.content, sorted(unit.metadata.items())] for unit in units]
    text = json.dumps(plain, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Haystack(MemoryPart):
    """What is stored before a question: read when it is wanted, and not kept."""

    _key: str = PrivateAttr(default="")
    _read: Callable[[], tuple[Unit, ...]] = PrivateAttr(default=tuple)
    _stages: tuple[Stage, ...] = PrivateAttr(default=())
    _renames: bool = PrivateAttr(default=False)

    @classmethod
    def of(cls, key: str, read: Callable[[], tuple[Unit, ...]], *, renames: bool = False) -> Haystack:
        """Return the part with this key, whose units `read` returns."""
        part = cls.model_construct()
        part._key, part._read, part._renames = key, read, renames
        return part

    @classmethod
    def staged(cls, stages: tuple[Stage, ...], *, renames: bool = False) -> Haystack:
        """Return the part of these stages, the last of which has its key."""
        part = cls.of(stages[-1].key, lambda: tuple(unit for stage in stages for unit in stage.read()), renames=renames)
        part._stages = stages
        return part

    @property
    def stages(self) -> tuple[Stage, ...]:
        """What is stored up to each point at which the memory is told that all is there."""
        return self._stages or super().stages

    @property
    def units(self) -> tuple[Unit, ...]:
        """What is stored, in this order. Raises RecallError if the file cannot be read any more."""
        return self._read()

    @property
    def renames(self) -> bool:
        """Whether a memory knows units by other ids than evidence does."""
        return self._renames

    @property
    def key(self) -> str:
        """Thirty-two hex digits over what is stored, taken when the questions were read."""
        return self._key


def _unit(id: str, content: str, metadata: Mapping[str, str]) -> Unit:
    return Unit(id=id, content=content, metadata={**metadata, "id": id})


class AskedAt(BaseModel):
    """When and where the question comes up."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    session: Text | None = None
    date: Text | None = None
    checkpoint: Text | None = None

    @property
    def context(self) -> QueryContext:
        """The same, as a memory system is told it."""
        return QueryContext(session=self.session, date=self.date, checkpoint=self.checkpoint)
