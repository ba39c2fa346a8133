"""Call the models of a pass in parallel, reuse replies that were kept, and print the cost."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Protocol, TypeVar

from pytest_recall.files.pace import Pace
from pytest_recall.files.wording import dollars, plural
from pytest_recall.horizon.day import Brief
from pytest_recall.horizon.passes import prompts
from pytest_recall.horizon.persona import Persona
from pytest_recall.judges.calibration_file import Replies
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.models.model import Ask, Message, Model, ModelError, Reply
from pytest_recall.models.model_notes import made_of
from pytest_recall.models.prices import list_price, price_of_reply, seller_of
from pytest_recall.models.reply_cache import Keeper
from pytest_recall.replay.exchange import Call, Tokens

Job = TypeVar("Job")
Done = TypeVar("Done")


@dataclass
class Work:
    """Asks a model for a pass; several threads may ask."""

    model: Model
    kept: Path | None
    """Where replies are kept, so that what was paid for before a kill is there after it."""
    concurrency: int = 1
    bought: list[Call] = field(default_factory=list)
    """The calls that were made now."""

    def __post_init__(self) -> None:
        self._replies = Replies(self.kept)
        self._lock = Lock()
        self._identity = made_of(self.model).digest

    def ask(self, system: str, user: str, *, max_tokens: int, temperature: float | None) -> Reply:
        """Return the reply. Raises ModelError."""
        asked = Ask(messages=(Message("user", user),), system=system, max_tokens=max_tokens, temperature=temperature)
        # A keeper for each question: the same words again are the same question, and not another one.
        store = _Locked(self._replies, self._lock)
        return Keeper(self.model, store, {}, self._paid, identity=self._identity).ask(asked)

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, in their order, or why its model could not be asked.

        What else it raises is raised once the jobs that had begun are over.
        """

        def one(job: Job) -> Done | ModelError:
            try:
                return do(job)
            except ModelError as error:
                return error

        if self.concurrency == 1 or len(jobs) < 2:
            return [one(job) for job in jobs]
        with ThreadPoolExecutor(self.concurrency) as pool:
            try:
                return list(pool.map(one, jobs))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    def _paid(self, model: Model, reply: Reply) -> None:
        cost = price_of_reply(model, reply)
        with self._lock:
            self.bought.append(Call("agent", "live", reply.model, seller_of(model), reply.tokens, cost))


class _Locked:
    """A store of replies that several threads use."""

    def __init__(self, replies: Replies, lock: Lock) -> None:
        self._replies, self._lock = replies, lock

    def find(self, key: str) -> Reply | None:
        with self._lock:
            return self._replies.find(key)

    def keep(self, key: str, reply: Reply) -> None:
        with self._lock:
            self._replies.keep(key, reply)


WIDTH = 79
"""Characters of a line on a terminal that is written over."""


class PassProgress:
    """Says how far a pass is: in place on a terminal, and a line for each tenth elsewhere."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._pace = Pace()

    def step(self) -> None:
        """One more is done."""
        self._done += 1
        pace = self._pace.text(self._done, self._total - self._done)
        line = f"recall: {self._what} {self._done:,} of {self._total:,}{pace}"
        if sys.stderr.isatty():
            # What was longer before is written over.
            print(f"\r{line:<{WIDTH}}", end="\n" if self._done == self._total else "", file=sys.stderr, flush=True)
        elif self._done == self._total or self._done * 10 // self._total > (self._done - 1) * 10 // self._total:
            print(line, file=sys.stderr, flush=True)


class StoryRequest(NamedTuple):
    """What kind of persona is wanted, and for how long."""

    prompt: str
    epoch: date
    """Day 1."""
    days: int
    """The last day."""


class Attempt(NamedTuple):
    """A reply that cannot be taken, and why."""

    number: int
    """Counted from 1."""
    reply: str
    problems: Sequence[str]
    """A sentence for each."""


class Author(Protocol):
    """Who writes. All of it may raise ModelError."""

    def persona(self, wish: StoryRequest, last: Attempt | None) -> str:
        """Return a persona as YAML; `last` is what was wrong with the one before."""
        ...

    def story(self, wish: StoryRequest, persona: Persona, last: Attempt | None) -> str:
        """Return a story's arcs and sessions as YAML; `last` is what was wrong with the one before."""
        ...

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return what the persona writes down about a session on a day; may be called from several threads."""
        ...

    def each(self, jobs: Sequence[Job], do: Callable[[Job], Done]) -> list[Done | ModelError]:
        """Return what `do` makes of each job, in their order, or why it could not be done."""
        ...


@dataclass(frozen=True)
class ModelAuthor:
    """A model that writes, asked through `work`."""

    work: Work
    max_tokens: int
    """Limits each reply, and twice that a story."""
    temperature: float | None

    def persona(self, wish: StoryRequest, last: Attempt | None) -> str:
        """Return a persona as YAML."""
        return self._ask(prompts.PERSONA, _again(prompts.persona(*wish), last), self.max_tokens)

    def story(self, wish: StoryRequest, persona: Persona, last: Attempt | None) -> str:
        """Return a story as YAML."""
        asked = prompts.story(wish.prompt, wish.epoch, wish.days, persona)
        return self._ask(prompts.STORY, _again(asked, last), 2 * self.max_tokens)

    def entry(self, persona: Persona, brief: Brief) -> str:
        """Return the entry of a session."""
        return self._ask(*prompts.prompts(persona, brief), self.max_tokens)

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
    def asked(self) -> Model:
        """The model itself."""
        return self.model

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
    return asked if last is None else prompts.again(asked, last.number, last.reply, last.problems)


class PassEstimate(NamedTuple):
    """What a pass will take, about."""

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    """None where the price is not known."""


def forecast(model: Model, sizes: Iterable[tuple[int, int]]) -> PassEstimate:
    """Return what calls of these sizes take, each its tokens in and at most out. Nothing is asked."""
    calls = read = most = 0
    for given, replied in sizes:
        calls += 1
        read += given
        most += replied
    usd = list_price(model.name, getattr(model, "seller", None), Tokens(read, most)) if calls else 0.0
    return PassEstimate(calls, read, most, usd)


def sizes_of(prompts: Iterable[tuple[str, str]], max_tokens: int) -> Iterator[tuple[int, int]]:
    """Yield the sizes of calls with these prompts, whose replies are as long as they may be."""
    return ((estimated_tokens(prompt), max_tokens) for prompt in prompts)


def sentence(what: str, estimate: PassEstimate, kept: int = 0) -> str:
    """Return a forecast in words; `kept` are those that are there already."""
    there = f" ({kept:,} there already)" if kept else ""
    if not estimate.calls:
        return f"{what}{there}: no call"
    cost = "its price is not known" if estimate.usd is None else f"at most {dollars(estimate.usd)} at list price"
    return (
        f"{what}{there}: {plural(estimate.calls, 'call')} or more, about {estimate.input_tokens:,} tokens in and at"
        f" most {estimate.output_tokens:,} out, {cost}"
    )
