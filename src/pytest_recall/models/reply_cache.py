"""Cache the replies of judging models, so that several panels share one call."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from pytest_recall.models.model import Ask, Model, ModelError, Reply


class Store(Protocol):
    """Where replies are kept."""

    def find(self, key: str) -> Reply | None:
        """Return the reply that is kept under `key`, or None."""
        ...

    def keep(self, key: str, reply: Reply) -> None:
        """Keep a reply."""
        ...


@dataclass
class Turns:
    """Tells the questions of one judgement apart.

    A reply that cannot be used may be followed by the same question again, which is another call.
    """

    asked: Counter[str] = field(default_factory=Counter)

    def key(self, selector: str, ask: Ask, identity: str = "") -> str:
        """Return the key of what `selector` is asked now; `identity` tells apart what has the same one."""
        known = [selector, identity] if identity else [selector]
        text = json.dumps([*known, asdict(ask)], sort_keys=True, default=list)
        self.asked[text] += 1
        return hashlib.sha256(f"{self.asked[text]}\0{text}".encode("ascii")).hexdigest()


@dataclass
class Keeper:
    """A model that is asked for what is not kept."""

    model: Model
    store: Store
    failures: MutableMapping[str, ModelError]
    """The calls that came to nothing: they are not kept, but not made again either as long as the mapping is the
    same."""
    paid: Callable[[Model, Reply], None]
    """Takes in each reply that the model gave, with the model."""
    turns: Turns = field(default_factory=Turns)
    identity: str = ""
    """Tells the model's replies apart from those of another one of this name."""
    note: Callable[[], object] = tuple
    """Called before a reply is kept."""

    @property
    def name(self) -> str:
        """The selector."""
        return self.model.name

    def ask(self, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError."""
        key = self.turns.key(self.name, ask, self.identity)
        if key in self.failures:
            raise self.failures[key]
        kept = self.store.find(key)
        if kept is not None:
            return kept
        try:
            reply = self.model.ask(ask)
        except ModelError as error:
            self.failures[key] = error
            raise
        self.note()
        self.store.keep(key, reply)
        self.paid(self.model, reply)
        return reply


@dataclass
class Rehearsed:
    """A model that is not asked."""

    name: str
    store: Store | None
    known: MutableMapping[str, bool]
    """Takes in each question, and whether its reply is kept."""
    turns: Turns = field(default_factory=Turns)
    identity: str = ""

    def ask(self, ask: Ask) -> Reply:
        """Return the kept reply, or one that can be read."""
        key = self.turns.key(self.name, ask, self.identity)
        kept = None if self.store is None else self.store.find(key)
        self.known[key] = kept is not None
        return kept or Reply(text=_readable(ask.schema or {}))


def _readable(schema: Mapping[str, Any]) -> str:
    """Return a reply that fits the schema of a judgement."""
    ((name, shape),) = ((name, shape) for name, shape in schema["properties"].items() if name != "reasoning")
    said = shape["enum"][0] if "enum" in shape else {n: about["enum"][0] for n, about in shape["properties"].items()}
    return json.dumps({"reasoning": "none", name: said})
