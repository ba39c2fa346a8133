"""Fill a memory for a case, ask it, and check by reading back that it kept what it was told."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import islice, pairwise
from time import sleep
from typing import TYPE_CHECKING, Any

from pytest_recall.cases.case import Case
from pytest_recall.cases.memory_part import MAX_LIMIT, MemoryPart, QueryContext, Unit
from pytest_recall.files import clock
from pytest_recall.files.errors import CaseError
from pytest_recall.memory.client import MemoryAdapter, OwnTime, deadline, noting_waits, own_time, passages_of
from pytest_recall.metrics.answers import estimated_tokens
from pytest_recall.trials.evidence import renamed
from pytest_recall.trials.execution import Awaiter, EndingErrors, called, well_formed
from pytest_recall.trials.trial import ANSWERED, Answer, Passage

if TYPE_CHECKING:
    from pytest_recall.replay.exchange import Call
    from pytest_recall.trials.memory_calls import MemoryModelCalls

_STRIDE = 7919
_POLLED = 0.25
"""Seconds between two questions whether it is ready."""
NEAR = 0.6
"""The ratio of difflib from which a passage counts as a unit in other words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Readback:
    """What came of asking for units back."""

    stored: int
    """How many units are stored."""
    asked: int = 0
    """How many of these were asked for."""
    same: int = 0
    """How many came back as they were."""
    changed: int = 0
    """How many came back in other words or as a part."""
    missing: int = 0
    """How many did not come back at all."""
    held: int | None = None
    """The client's own count after storing; None if it says none."""

    def __add__(self, other: Readback) -> Readback:
        held = None if self.held is None or other.held is None else self.held + other.held
        return Readback(
            stored=self.stored + other.stored,
            asked=self.asked + other.asked,
            same=self.same + other.same,
            changed=self.changed + other.changed,
            missing=self.missing + other.missing,
            held=held,
        )

    def __str__(self) -> str:
        count = "" if self.held is None or self.held == self.stored else f", of which it says it holds {self.held}"
        found = f"; of {self.asked} asked back, {self.same} came as they were, {self.changed} changed"
        back = f"{found}, {self.missing} not at all" if self.asked else ""
        return f"stored {self.stored} unit{'' if self.stored == 1 else 's'}{count}{back}"

    @property
    def trouble(self) -> str:
        """Which texts were lost or changed, in words; empty where nothing shows that."""
        told = []
        if self.held is not None and self.held < self.stored:
            told.append(f"it says that it holds {self.held:,} of {self.stored:,} units")
        if self.missing:
            told.append(f"{self.missing:,} of {self.asked:,} units did not come back when asked by their own words")
        if self.changed:
            told.append(f"{self.changed:,} of {self.asked:,} came in other words")
        return "; ".join(told)


def sample(units: Sequence[Unit], count: int, *, uneven: bool = False) -> list[Unit]:
    """Return at most `count` of `units`, evenly spread, the first among them; always the same ones.

    `uneven` ones are not at equal steps, so that a memory which keeps every second unit is found out.
    """
    if count <= 0:
        return []
    if len(units) <= count:
        return list(units)
    places = [place * len(units) // count for place in range(count + 1)]
    if uneven:
        places = [low + _STRIDE * n % (high - low) for n, (low, high) in enumerate(pairwise(places))]
    return [units[place] for place in places[:count]]


def seen(readback: Readback, unit: Unit, passages: Iterable[Passage]) -> Readback:
    """Return `readback` with what came back when `unit` was asked for by its own text."""
    texts = list(passages)
    if any(one.text == unit.content for one in texts):
        return replace(readback, asked=readback.asked + 1, same=readback.same + 1)
    if any(_is_of(unit, one) for one in texts):
        return replace(readback, asked=readback.asked + 1, changed=readback.changed + 1)
    return replace(readback, asked=readback.asked + 1, missing=readback.missing + 1)


def _is_of(unit: Unit, passage: Passage) -> bool:
    """Whether a passage is what a memory made of a unit: by its id, as a whole in a larger text, or nearly."""
    if passage.source is not None:
        return passage.source == unit.told
    if unit.content in passage.text:
        return True
    return bool(passage.text.strip()) and SequenceMatcher(None, unit.content, passage.text).ratio() >= NEAR


DEFAULT_LIMIT = 5
"""Passages that are asked for where no number is given."""
PROBED = 5
"""Units that are asked back after storing, where no number is given."""


class HaltedError(BaseException):
    """The run has stopped, by another thread, while the memory was told; it is no error of the memory."""


class Memory:
    """A memory system. Every method raises CaseError with the stage that broke, such as `memory store`.

    `wait` runs what async clients return; `ends` are the exceptions by which someone ends the run; `probed`
    units are asked back of what a case stores, and at most `in_all` in all. With `reuses`, a case that stores what
    the one before it has stored asks at once; where each case has its own recording, none does. What a case stores is
    stored within `telling`, which is given its key; after all of it there are `settle` seconds in which the memory may
    become ready for questions. `calls` are listened to while it is told and asked. Once
    `is_halted`, HaltedError ends what it is told.
    """

    def __init__(
        self,
        client: MemoryAdapter,
        *,
        wait: Awaiter,
        ends: EndingErrors = (),
        probed: int = PROBED,
        in_all: int | None = None,
        reuses: bool = True,
        settle: float = 0,
        clock: Callable[[], float] = clock.perf_counter,
        telling: Callable[[str], AbstractContextManager[object]] = nullcontext,
        calls: MemoryModelCalls | None = None,
        is_halted: Callable[[], bool] = lambda: False,
    ) -> None:
        self._client = client
        self._telling = telling
        self._calls = calls
        self._is_halted = is_halted
        self._wait = wait
        self._ends = ends
        self._probed = probed
        self._in_all = in_all
        self._reuses = reuses
        self._settle = settle
        self._clock = clock
        self._holds: str | None = None
        self._stored = 0
        # Since units were asked back for the last time: those that were told; and the count then.
        self._told = self._told_tokens = 0
        self._counted: int | None = 0
        # The same for the stages that these were told in, and the seconds that it took.
        self._stages = 0
        self._seconds = 0.0
        self._store_calls: list[Call] | None = None
        self.filled = False
        self.readback: Readback | None = None

    @property
    def name(self) -> str:
        """The selector, as the person wrote it."""
        return self._client.name

    # What a test calls

    def reset(self) -> None:
        """Forget everything."""
        self._holds = None
        self._call("reset", self._client.reset)
        self._stored = self._told = self._told_tokens = self._counted = self._stages = 0
        self._seconds, self._store_calls = 0.0, None

    def store(self, content: str, metadata: Mapping[str, str] | None = None) -> None:
        """Keep a text; without an `id` in `metadata` it is `unit-N`, counted from 1."""
        self._holds, self.filled = None, True
        self._stored += 1
        about = {"id": f"unit-{self._stored}", **(metadata or {})}
        self._call("store", lambda: self._client.store(well_formed(content), about))

    def store_all(self, units: Iterable[Unit]) -> None:
        """Keep units in their order, several with one call as far as the client takes them."""
        left = iter(units)
        while some := list(islice(left, self._client.batch)):
            if self._is_halted():
                raise HaltedError("stopped while storing")
            if len(some) == 1:
                self.store(some[0].content, some[0].metadata)
                continue
            self._holds, self.filled = None, True
            self._stored += len(some)
            texts = [(well_formed(unit.content), dict(unit.metadata)) for unit in some]
            self._call("store", partial(self._client.store_many, texts))

    def recall(self, query: str, limit: int = DEFAULT_LIMIT, context: QueryContext | None = None) -> list[Passage]:
        """Return at most `limit` passages, the best first; the baselines of a context return all of theirs."""
        if self._client.answers_only:
            raise CaseError("memory recall", f"{self.name} answers, and returns no passages; call `answer`")
        return self._recalled("recall", query, limit, context or QueryContext())

    def answer(self, query: str, limit: int = DEFAULT_LIMIT, context: QueryContext | None = None) -> str | None:
        """Return the system's own answer, None if it gives none."""
        self._check(query, limit)
        text = self._call("answer", lambda: self._client.answer(query, limit, context or QueryContext()))
        if text is not None and not isinstance(text, str):
            raise CaseError("memory answer", f"answered with {type(text).__name__}; return text, or None for no answer")
        return None if text is None else well_formed(text)

    def finalize(self) -> None:
        """Say that all is stored."""
        self._call("finalize", self._client.finalize)

    def count(self) -> int | None:
        """Return how many units it says that it holds, None if it does not say."""
        count = self._call("count", self._client.count)
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 0):
            raise CaseError("memory count", f"counted {count!r}; return a whole number, or None if it is not known")
        return count

    def healthcheck(self) -> None:
        """Raise CaseError if it cannot be used."""
        self._call("healthcheck", self._client.healthcheck)

    def ready(self) -> None:
        """Raise CaseError if something is missing here, such as a package. Nothing is asked."""
        self._call("setup", self._client.ready)

    def close(self) -> None:
        """Let go of processes, connections and files."""
        self._call("close", self._client.close)

    @property
    def whole(self) -> bool:
        """Whether it returns all that it would show a model, whatever the limit."""
        return bool(self._client.whole)

    @property
    def private(self) -> bool:
        """Whether it lives in this process, and was empty when it was made."""
        return bool(self._client.private)

    @property
    def takes_context(self) -> bool:
        """Whether it is told in which session a question is asked, as far as that is known."""
        return bool(self._client.takes_context)

    @property
    def concurrent(self) -> bool:
        """Whether several threads may ask it at once."""
        return bool(self._client.concurrent)

    def holds(self, part: MemoryPart) -> bool:
        """Whether it was told what a case gives, and nothing since."""
        return self._holds == part.key

    def guard(self, allowed: bool, option: str = "--memory-reset") -> None:
        """Raise CaseError, naming the `option` that allows it, if a reset may delete what this run has not stored."""
        if self.private:
            return
        # Asked also where it is allowed, so that a recording has the call whether it was or not.
        count = self.count()
        if allowed or count == 0:
            return
        holds = "does not say whether it is empty" if count is None else f"holds {count} units that are not this run's"
        raise CaseError(
            "memory reset",
            f"{self.name} {holds}, and a reset deletes everything; name an empty store, or allow it with {option}",
        )

    # What a case calls

    def ingest(self, part: MemoryPart) -> int:
        """Forget everything and store what a case gives; return how many of its stages were not there before.

        What the case before has stored stays where this one begins with the same stages.
        """
        stages = part.stages
        keys = [stage.key for stage in stages]
        there = keys.index(self._holds) + 1 if self._reuses and self._holds in keys else 0
        if not there:
            self.reset()
        for stage in stages[there:]:
            units = stage.read()
            with self._telling(stage.key):
                self.store_all(units)
                self._told += len(units)
                self._told_tokens += estimated_tokens(one.content for one in units)
                self.finalize()
            self._holds = stage.key
            self._stages += 1
        if self._settle and there < len(stages):
            held, self._holds = self._holds, None
            self._wait_until_ready(self._settle)
            self._holds = held
        return len(stages) - there

    def _wait_until_ready(self, seconds: float) -> None:
        """Wait until it says that it is ready, for so many seconds; all of them where it does not say."""
        end = clock.monotonic() + seconds
        while (said := self._call("settle", self._client.is_ready)) is not True:
            if (left := end - clock.monotonic()) <= 0:
                break
            sleep(min(_POLLED, left) if said is False else left)
        if said is False:
            raise CaseError("memory settle", f"still not ready {seconds:g} s after all was stored; raise --settle")

    def ask(self, case: Case, seconds: float | None = None) -> Answer:
        """Store what the case gives, ask its question, and return the answer with the passages.

        The text is the system's own answer, and else all passages in their order, a blank line between two:
        nothing is picked out by what is expected. The question may take so many `seconds`, where that is given.
        """
        with noting_waits() as waits:
            answer = self._answered(case, seconds)
        if not waits.count:
            return answer
        again = {"memory_retries": waits.count, "memory_waited_seconds": round(waits.seconds, 6)}
        return replace(answer, usage={**answer.usage, **again})

    def _answered(self, case: Case, seconds: float | None) -> Answer:
        part, query = case.memory, case.input
        assert part is not None
        assert isinstance(query, str)
        stored, calls = OwnTime(), None
        try:
            with nullcontext() if self._calls is None else self._calls.told() as calls, own_time(self._clock) as stored:
                self.ingest(part)
        finally:
            if self._stages:
                self._seconds += stored.seconds
                self._store_calls = calls if self._store_calls is None else [*self._store_calls, *(calls or ())]
        limit = case.limit or DEFAULT_LIMIT
        context = QueryContext() if case.context is None else case.context.context
        with (
            nullcontext() if seconds is None else deadline(seconds),
            nullcontext() if self._calls is None else self._calls.asked() as calls,
            own_time(self._clock) as asked,
        ):
            passages = self._recalled("recall", query, limit, context)
            text = self.answer(query, limit, context)
        if seconds is not None and asked.whole > seconds:
            raise CaseError("memory timeout", f"no answer within {seconds:g} s")
        usage = {"memory_recall_seconds": round(asked.seconds, 6), ANSWERED: 0 if text is None else 1}
        usage |= self._usage(calls, "memory_recall")
        usage |= self.took(part, limit)
        known = _named(part, passages)
        return Answer(text="\n\n".join(p.text for p in known) if text is None else text, passages=known, usage=usage)

    def took(self, part: MemoryPart, limit: int | None = None) -> dict[str, float]:
        """Return what it took to store what a case gives, and what came of asking it back; nothing if that was said.

        An answer has it in its usage. Where the first question fails it is asked for apart from that.
        """
        if not self._stages or not self.holds(part):
            return {}
        stages, seconds, self._stages, self._seconds = self._stages, self._seconds, 0, 0.0
        tokens, self._told_tokens = self._told_tokens, 0
        calls, self._store_calls = self._store_calls, None
        found = {"memory_store_seconds": round(seconds, 6), "memory_told_tokens": tokens}
        found |= self._usage(calls, "memory_store")
        found |= self._probe(part, limit or DEFAULT_LIMIT)
        if stages > 1:
            found["memory_stages"] = stages
        if (place := len(part.stages)) > 1:
            found["memory_place"] = place
        return found

    def check(self, part: MemoryPart) -> tuple[Readback, str | None]:
        """Store what `part` has, ask it back and ask for an answer, and leave the memory empty."""
        self.ingest(part)
        found = self.read_back(part.units)
        answer = self.answer(part.units[0].content)
        self.reset()
        return found, answer

    def read_back(
        self, units: Sequence[Unit], limit: int = DEFAULT_LIMIT, *, at_home: bool = False, as_far: bool = False
    ) -> Readback:
        """Ask for some of the units that were stored by their own words, and count what is held.

        `at_home`, each is asked for in its own session, since a memory may keep sessions apart. The recordings of
        cases have such calls without a session. `as_far` as that works: at the first unit that it breaks at it ends.
        """
        try:
            found = Readback(stored=len(units), held=self.count() if self._probed else None)
        except CaseError:
            if not as_far:
                raise
            return Readback(stored=len(units))
        left = self._probed
        if self._in_all is not None:
            left = min(left, self._in_all - (0 if self.readback is None else self.readback.asked))
        for unit in [] if self._client.answers_only else sample(units, left, uneven=self._in_all is not None):
            context = QueryContext(session=unit.metadata.get("session") if at_home else None)
            try:
                with nullcontext() if self._calls is None else self._calls.probed():
                    found = seen(found, unit, self._recalled("probe", unit.content, limit, context))
            except CaseError:
                if not as_far:
                    raise
                break
        return found

    def _probe(self, part: MemoryPart, limit: int) -> dict[str, float]:
        """Read back after the question, so that it cannot change the answer, and note what came of it.

        Units are asked back of all that is to be there; those that are counted are the new ones.
        """
        # What breaks here breaks no question.
        found = self.read_back(part.units, limit, as_far=True)
        before, self._counted = self._counted, found.held
        held = None if found.held is None or before is None else found.held - before
        found, self._told = replace(found, stored=self._told, held=held), 0
        self.readback = found if self.readback is None else self.readback + found
        plain = {"memory_stored": found.stored, "memory_probed": found.asked}
        if found.asked:
            plain |= {"memory_changed": found.changed, "memory_missing": found.missing}
        return {**plain, **({} if found.held is None else {"memory_held": found.held})}

    def _usage(self, calls: list[Call] | None, of: str) -> Mapping[str, float]:
        return {} if self._calls is None or calls is None else self._calls.usage_of(calls, of)

    def _recalled(self, stage: str, query: str, limit: int, context: QueryContext) -> list[Passage]:
        self._check(query, limit)
        given = self._call(stage, lambda: passages_of(self._done(self._client.recall(query, limit, context))))
        passages: list[Passage] = given
        return passages if self._client.whole else passages[:limit]

    def _check(self, query: str, limit: int) -> None:
        if not query:
            raise CaseError("memory recall", "the question is empty; write one")
        if not 0 < limit <= MAX_LIMIT:
            raise CaseError("memory recall", f"the limit is {limit}; it has to be from 1 to {MAX_LIMIT}")

    def _call(self, stage: str, call: Callable[[], Any]) -> Any:
        __tracebackhide__ = True
        with self._client.observed():
            return called(f"memory {stage}", lambda: self._done(call()), self._ends)

    def _done(self, given: Any) -> Any:
        __tracebackhide__ = True
        return self._wait(given) if inspect.isawaitable(given) else given


def readback_of(usage: Mapping[str, float]) -> Readback:
    """Return what the usage of the first answer after storing says of asking units back."""
    held = usage.get("memory_held")
    asked, changed, missing = (int(usage.get(f"memory_{name}", 0)) for name in ("probed", "changed", "missing"))
    return Readback(
        stored=int(usage.get("memory_stored", 0)),
        asked=asked,
        same=asked - changed - missing,
        changed=changed,
        missing=missing,
        held=None if held is None else int(held),
    )


def _named(part: MemoryPart, passages: list[Passage]) -> tuple[Passage, ...]:
    """Return the passages with the ids that evidence has for their sources.

    One without a source that is a stored text, word by word, has that unit's id as its own.
    """
    known = renamed(passages, part.names) if part.renames else tuple(passages)
    if all(one.source is not None for one in known):
        return known
    ids: dict[str, str] = {}
    for unit in part.units:
        ids.setdefault(unit.content, unit.id)
    return known_by_words(known, ids.get)


def known_by_words(passages: Iterable[Passage], id_of: Callable[[str], str | None]) -> tuple[Passage, ...]:
    """Return the passages; one without a source whose text was told, word by word, has the id that `id_of` gives."""
    return tuple(replace(one, source=id_of(one.text)) if one.source is None else one for one in passages)
