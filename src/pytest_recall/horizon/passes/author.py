"""Author: who writes a persona, its story and its days: a model, or nobody but a seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple, Protocol, TypeVar

from pytest_recall.core.horizon.brief import Brief
from pytest_recall.core.horizon.persona import Persona
from pytest_recall.core.model import Ask, Model, ModelError, Reply
from pytest_recall.horizon.passes import day_prompt, persona_prompt
from pytest_recall.horizon.passes.work import Work

OFFLINE = "offline"
"""The selector of the author who asks no model; `offline:SEED` takes another seed than 0."""
Job = TypeVar("Job")
Done = TypeVar("Done")


class Wish(NamedTuple):
    """What kind of persona is wanted, and for how long: day 1 is `epoch`, the last one is `days`."""

    prompt: str
    epoch: date
    days: int


class Attempt(NamedTuple):
    """A reply that cannot be taken, and why, one sentence for each problem; `number` counts from 1."""

    number: int
    reply: str
    problems: Sequence[str]


class Author(Protocol):
    """Who writes. All of it may raise ModelError."""

    def persona(self, wish: Wish, last: Attempt | None) -> str:
        """Return a persona as YAML; `last` is what was wrong with the one before."""
        ...

    def story(self, wish: Wish, persona: Persona, last: Attempt | None) -> str:
        """Return a story's arcs and sessions as YAML; `last` is what was wrong with the one before."""
        ...

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return what the persona writes down about a session on a day; may be called from several threads."""
        ...

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, in their order, or why it could not be done."""
        ...


def seed_of(selector: str) -> str | None:
    """Return the seed in `offline` or `offline:SEED`; None if a model is meant."""
    name, _, seed = selector.strip().partition(":")
    return (seed.strip() or "0") if name == OFFLINE else None


@dataclass(frozen=True)
class ModelAuthor:
    """A model that writes, asked through `work`. `max_tokens` limits each reply, and twice that a story."""

    work: Work
    max_tokens: int
    temperature: float | None

    def persona(self, wish: Wish, last: Attempt | None) -> str:
        """Return a persona as YAML."""
        return self._ask(persona_prompt.PERSONA, _again(persona_prompt.persona(*wish), last), self.max_tokens)

    def story(self, wish: Wish, persona: Persona, last: Attempt | None) -> str:
        """Return a story as YAML."""
        asked = persona_prompt.story(wish.prompt, wish.epoch, wish.days, persona)
        return self._ask(persona_prompt.STORY, _again(asked, last), 2 * self.max_tokens)

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return the entry of a session."""
        return self._ask(*day_prompt.prompts(persona, brief), self.max_tokens)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, several at once if the work allows it."""
        return self.work.each(jobs, do)

    def _ask(self, system: str, user: str, most: int) -> str:
        return self.work.ask(system, user, max_tokens=most, temperature=self.temperature).text


@dataclass(frozen=True)
class Whole:
    """A model whose replies are whole, or none: one that was cut off, refused or empty must not be kept."""

    model: Model

    @property
    def name(self) -> str:
        """The selector."""
        return self.model.name

    @property
    def seller(self) -> str | None:
        """Who sells it."""
        return getattr(self.model, "seller", None)

    def ask(self, ask: Ask) -> Reply:
        """Return the reply. Raises ModelError."""
        reply = self.model.ask(ask)
        if reply.stop == "length":
            raise ModelError(f"{self.name}: the reply was cut at {ask.max_tokens:,} tokens; raise --max-tokens")
        if reply.stop == "refused":
            raise ModelError(f"{self.name}: the reply was refused; try again, or name another --model")
        if not reply.text.strip():
            raise ModelError(f"{self.name}: the reply is empty; try again, or name another --model")
        return reply


def _again(asked: str, last: Attempt | None) -> str:
    return asked if last is None else persona_prompt.again(asked, last.number, last.reply, last.problems)
