"""Seat: one judging model at the panel, asked until its reply can be used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

from pytest_recall.core.errors import RecallError
from pytest_recall.core.judgement import Vote
from pytest_recall.core.model import Ask, Message, Model, Reply
from pytest_recall.judges.parse import Unreadable

MAX_TOKENS = 1024
SAMPLED = 0.7
"""The temperature where a model is asked several times; one that is asked once is asked at 0."""

T = TypeVar("T")


class Undecided(RecallError):  # noqa: N818 - it is what became of the judgement
    """A judgement that could not be had: the third outcome, and never a score."""


class Prompt(NamedTuple):
    """What is put to a judging model: who it is, the material, and the shape of its reply."""

    system: str
    material: str
    schema: Mapping[str, Any]


class Inquiry(Protocol):
    """What is to be found out about one answer; the same for each model that is asked.

    `version` is eight hex digits over the prompt's template, the schema and the settings.
    """

    @property
    def version(self) -> str:
        """Return the version."""
        ...

    def hear(self, seat: Seat) -> Vote:
        """Return what the judge at `seat` decides. Raises Undecided or ModelError."""
        ...


@dataclass(kw_only=True)
class Seat:
    """A model with how it is asked. It counts the replies that could not be used."""

    model: Model
    attempts: int = 3
    temperature: float = 0.0
    seed: int | None = None
    retried: int = 0
    replied: str | None = None
    ignored: set[str] = field(default_factory=set)

    def put(self, prompt: Prompt, read: Callable[[str], T]) -> T:
        """Return what `read` makes of the reply, asking again while it is refused, cut off or unreadable.

        Each further ask says what was wrong. Raises Undecided after the last one, and ModelError
        where the model could not be asked at all.
        """
        ask = Ask(
            messages=(Message("user", prompt.material),),
            system=prompt.system,
            max_tokens=MAX_TOKENS,
            temperature=self.temperature,
            seed=self.seed,
            schema=prompt.schema,
        )
        problems: list[str] = []
        for _ in range(self.attempts):
            reply = self.model.ask(_once_more(ask, prompt, problems))
            self.replied = reply.model or self.replied
            self.ignored.update(reply.ignored)
            try:
                return read(_whole(reply))
            except Unreadable as error:
                problems.append(str(error))
                self.retried += 1
            if reply.stop == "length":
                ask = replace(ask, max_tokens=2 * ask.max_tokens)
        # The last one was not followed by another.
        self.retried -= 1
        times = "once" if self.attempts == 1 else f"{self.attempts} times"
        raise Undecided(f"{self.model.name}: asked {times}, and the reply {problems[-1]}")

    def signed(self, vote: Vote) -> Vote:
        """Return the vote with who gave it, and how often the model had to be asked again."""
        return vote._replace(
            model=self.model.name, replied=self.replied, retried=self.retried, ignored=tuple(sorted(self.ignored))
        )


def _once_more(ask: Ask, prompt: Prompt, problems: list[str]) -> Ask:
    """Return the ask, with what was wrong with the reply before.

    That reply is not shown again: whatever made it go astray would be repeated in it.
    """
    if not problems:
        return ask
    told = (
        f"{prompt.material}\n\nYour earlier reply could not be used: it {problems[-1]}."
        " Reply with the JSON object alone, and keep the reasoning short."
    )
    return replace(ask, messages=(Message("user", told),))


def _whole(reply: Reply) -> str:
    if reply.stop == "refused":
        raise Unreadable("is a refusal to judge")
    if reply.stop == "length":
        raise Unreadable("was cut off at the limit of tokens")
    return reply.text


def version_of(*parts: Any) -> str:
    """Return eight hex digits over what decides a judgement apart from the case: template, schema, settings."""
    text = json.dumps(parts, sort_keys=True, default=list)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def reply_schema(name: str, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a reply: the reasoning first, so that it is written before what follows from it."""
    return {
        "type": "object",
        "properties": {"reasoning": {"type": "string"}, name: dict(shape)},
        "required": ["reasoning", name],
        "additionalProperties": False,
    }


def score_schema(ranges: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return the JSON Schema of a reply with scores. Levels are listed: not every provider knows bounds."""
    levels = {name: {"type": "integer", "enum": list(range(low, high + 1))} for name, (low, high) in ranges.items()}
    shape = {"type": "object", "properties": levels, "required": list(levels), "additionalProperties": False}
    return reply_schema("scores", shape)
