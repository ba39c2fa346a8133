"""Define what all memory systems share: the client, its time limit, and the passages it returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from pytest_recall.cases.memory_part import MemoryFault, QueryContext
from pytest_recall.files import clock
from pytest_recall.files.context_values import assigned
from pytest_recall.files.wording import one_line
from pytest_recall.models.fingerprint import files_of
from pytest_recall.models.inputs import Inputs
from pytest_recall.models.provider import Provider
from pytest_recall.trials.execution import passage_of as given_passage
from pytest_recall.trials.trial import Passage

ModelPlace = Literal["none", "here", "elsewhere"]
"""Where a memory calls models: not at all, in this process, or where it runs itself."""


class MemoryAdapter:
    """A memory system behind a selector, which is its `name`: a subclass says how it is told and asked.

    It needs `reset`, `store` and `recall`; each method may raise MemoryFault with a sentence.
    """

    private: bool = False
    """Whether it lives in this process, and is empty when it is made."""
    whole: bool = False
    """Whether it returns all that it would show a model, whatever the limit."""
    answers_only: bool = False
    """Whether it answers questions, and returns no passages."""
    concurrent: bool = False
    """Whether several threads may ask it at once."""
    baseline: bool = False
    """Whether it looks for nothing, and is there to be compared with."""
    takes_context: bool = True
    """Whether a question reaches it with its session; it may have to be asked for that, which `learn` does."""
    context_hint: str = ""
    """What a system has to say or have to be given that, as a clause; empty where nothing helps."""
    namespaces: bool = False
    """Whether it keeps stores apart by a name; it may have to be asked for that, which `learn` does."""
    batch: int = 1
    """How many texts it takes in one call of `store_many`, which it does not have where this is 1; it may have to be
    asked for that, which `learn` does."""
    model: Provider | None = None
    """The one that it asks, where its selector names one."""
    calls_models: ModelPlace = "none"
    """Where it calls models of its own: `none`, `here` or `elsewhere`; set from the form of its selector."""
    title: str = ""
    """What tables call it, where that is not its name; set from the form of its selector."""
    elsewhere: str = ""
    """Why it cannot be known what it is made of, as it works in another process; empty where it works in this one."""
    observable: bool = False
    """Whether there may be more to it than its code, which is seen as it works."""

    def __init__(self, name: str) -> None:
        self.name = name

    def code(self) -> Iterable[Path]:
        """Return the files that say how it works, and those of its model, as far as they are here."""
        return [*files_of(self), *(() if self.model is None else self.model.code())]

    def inputs(self, models: Collection[tuple[str, int | None]] = ()) -> Inputs:
        """Return what it and its model have read so far beside their code, as far as that was noted.

        `models` are the hosts and ports to which calls of models were heard: what is there is no part of it.
        """
        return Inputs() if self.model is None else self.model.inputs(models)

    def observed(self) -> AbstractContextManager[None]:
        """Note what it reads within."""
        return nullcontext()

    def ready(self) -> None:
        """Raise MemoryFault if something is missing here: a package, a program. Nothing is asked."""

    def learn(self) -> None:
        """Ask the system what it can do, where it has to be asked. Raises MemoryFault."""

    def in_namespace(self, name: str) -> MemoryAdapter:
        """Return a client for the store of this name alone. Raises MemoryFault if stores are not kept apart."""
        raise MemoryFault(f"{self.name} has no separate named stores")

    def reset(self) -> Any:
        """Forget everything."""
        raise NotImplementedError

    def store(self, content: str, metadata: Mapping[str, str]) -> Any:
        """Keep a text."""
        raise NotImplementedError

    def store_many(self, texts: Sequence[tuple[str, Mapping[str, str]]]) -> Any:
        """Keep texts, each with its metadata, in their order; at most `batch` of them."""
        raise NotImplementedError

    def recall(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return passages, the best first."""
        raise NotImplementedError

    def answer(self, query: str, limit: int, context: QueryContext) -> Any:
        """Return the system's own answer, None if it gives none."""
        return None

    def finalize(self) -> Any:
        """Take note that all is stored."""

    def count(self) -> Any:
        """Return how many units it holds, None if it does not say."""
        return None

    def healthcheck(self) -> Any:
        """Raise MemoryFault if it cannot be used."""

    def is_ready(self) -> Any:
        """Return whether all that was stored can be found by now, None if it does not say."""
        return True if self.private else None

    def close(self) -> Any:
        """Let go of processes, connections and files."""


def passages_of(given: Any) -> list[Passage]:
    """Return what a memory recalled as passages. Raises MemoryFault for what is not a list of them."""
    if given is None or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise MemoryFault(f"recalled {_kind(given)}; return a list of texts or passages, empty if there is nothing")
    return [passage_of(one) for one in given]


def passage_of(given: Any) -> Passage:
    """Return one passage: a text, or an object or mapping with `text`. Raises MemoryFault for anything else."""
    passage = given_passage(given)
    if passage is None:
        raise MemoryFault(f"recalled a passage that is {_kind(given)}; give text, or an object with a `text`")
    return passage if passage.score is None else replace(passage, score=float(passage.score))


def json_object(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object that `body` is. Raises MemoryFault if it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        shown = one_line(body.decode("utf-8", "replace"), 80)
        raise MemoryFault(f"replied with {shown!r}, which is no JSON object; check the service")
    return found


def _kind(given: Any) -> str:
    return "nothing" if given is None else f"{type(given).__name__}"


@dataclass(slots=True)
class RetriedCalls:
    """How often requests were tried again, and the seconds that were waited before that."""

    count: int = 0
    seconds: float = 0.0


_WAITS: ContextVar[RetriedCalls | None] = ContextVar("recall_memory_waits", default=None)


@contextmanager
def noting_waits() -> Iterator[RetriedCalls]:
    """Count how often calls of memories in this block are tried again; blocks around it count them as well."""
    waits, around = RetriedCalls(), _WAITS.get()
    try:
        with assigned(_WAITS, waits):
            yield waits
    finally:
        if around is not None:
            around.count += waits.count
            around.seconds += waits.seconds


@dataclass(slots=True)
class OwnTime:
    """The seconds that a memory itself took."""

    seconds: float = 0.0
    """Without those waited before a request to it was tried again."""
    whole: float = 0.0
    """With those waited before a request to it was tried again."""


@contextmanager
def own_time(clock: Callable[[], float] = clock.perf_counter) -> Iterator[OwnTime]:
    """Measure how long a memory takes for what it is told or asked in this block, also where that breaks."""
    took = OwnTime()
    begin = clock()
    with noting_waits() as waits:
        try:
            yield took
        finally:
            took.whole = clock() - begin
            took.seconds = max(0.0, took.whole - waits.seconds)


def waited(seconds: float) -> None:
    """Note that a request is tried again after so many seconds."""
    if (waits := _WAITS.get()) is not None:
        waits.count += 1
        waits.seconds += seconds


_UNTIL: ContextVar[float | None] = ContextVar("recall_memory_deadline", default=None)
_LEAST = 0.001


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Let calls of memories in this block, and in what copies its context, end by themselves in so many seconds."""
    with assigned(_UNTIL, clock.monotonic() + seconds):
        yield


def patience(own: float) -> float:
    """Return the seconds that a call may take: its own limit, or what is left until the deadline if that is less."""
    until = _UNTIL.get()
    return own if until is None else max(_LEAST, min(own, until - clock.monotonic()))
