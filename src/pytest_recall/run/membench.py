"""Membench: a memory is told the conversations of a dataset and asked its questions, without pytest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_recall.core.bench import ANSWERED, UNJUDGED
from pytest_recall.core.errors import CaseError, StoppedError, one_line
from pytest_recall.core.membench import Arguments, Line, Summary, fold, kept
from pytest_recall.datasets.dataset import digest
from pytest_recall.memory.client import Client
from pytest_recall.run.bench import Bench, Entry, metrics_of
from pytest_recall.run.loop import Loop
from pytest_recall.run.memory import Memory
from pytest_recall.store.files import locked
from pytest_recall.store.membench import Journal, begun

EVERY = 10.0
"""Seconds between two lines that say how far it is."""
SHOWN = 5
"""Failures that are told one by one."""


class Found(NamedTuple):
    """What a run came to so far: the questions that were asked, in the order of the dataset, of `total`."""

    lines: tuple[Line, ...]
    total: int

    @property
    def summary(self) -> Summary:
        """What all of them came to."""
        return fold(self.lines, self.total)

    @property
    def failed(self) -> tuple[Line, ...]:
        """The first of its failures."""
        return tuple(line for line in self.lines if line.error)[:SHOWN]


def arguments_of(bench: Bench, client: Client) -> Arguments:
    """Return what decides the outcome of a run. Raises RecallError if the dataset cannot be read."""
    asked = bench.asked
    return Arguments(
        dataset=bench.dataset.format,
        file=Path(asked.path).name,
        sha256=digest(bench.dataset).sha256,
        memory=client.name,
        k=asked.limit,
        unit=asked.unit,
        sample=asked.sample,
        seed="" if asked.sample is None else str(asked.seed),
        categories=asked.categories or (),
        whole=client.whole,
    )


def go_on(
    bench: Bench,
    client: Client,
    folder: Path,
    arguments: Arguments,
    *,
    allowed: bool,
    tell: Callable[[str], None],
    keeps_failed: bool = False,
) -> Found:
    """Ask the questions that the journal in `folder` has no verdict on yet, and return what all of them came to.

    A question that failed is asked again, unless the run `keeps_failed` ones. `allowed` says that a memory may be
    reset that is not empty; `tell` takes sentences for whoever waits. Raises RecallError, also for a run that
    somebody stops; what was asked is in the journal.
    """
    _, missing = metrics_of(bench.dataset.format, client.whole)
    if missing:
        tell(missing)
    total = len(bench.entries)
    lines: dict[str, Line] = {}
    with locked(folder / ".lock"):
        for line in begun(folder, arguments):
            lines[line.id] = line  # Of a question that was asked again the last one holds.
        done = frozenset(id for id, line in lines.items() if keeps_failed or not line.error)
        if lines:
            tell(f"{folder}: {kept(lines.values(), total, keeps_failed)}")
        if len(done) < total:
            told = time.monotonic()
            with _opened(client, allowed) as memory, Journal(folder, arguments) as journal:
                try:
                    for count, line in enumerate(ask_all(bench, memory, done), start=len(done) + 1):
                        journal.add(line)
                        lines[line.id] = line
                        if time.monotonic() - told >= EVERY:
                            told = time.monotonic()
                            tell(f"{count:,} of {total:,} questions")
                except KeyboardInterrupt:
                    raise StoppedError(f"{folder}: stopped; the same command continues it") from None
    return Found(tuple(lines[id] for id in bench.entries if id in lines), total)


@contextmanager
def _opened(client: Client, allowed: bool) -> Iterator[Memory]:
    """Hand out the memory, ready and empty; what is not private is empty again afterwards."""
    with ExitStack() as stack:
        loop = stack.enter_context(closing(Loop()))
        memory = Memory(client, wait=loop.wait, probed=0)
        stack.callback(memory.close)
        memory.ready()
        memory.healthcheck()
        memory.guard(allowed)
        try:
            yield memory
        finally:
            if memory.filled and not memory.private:
                memory.reset()


def ask_all(bench: Bench, memory: Memory, done: frozenset[str]) -> Iterator[Line]:
    """Yield what comes of each question that is not `done`, in the order of the dataset.

    A conversation is stored once for its questions. What breaks is a failure of its question, and the others
    are asked all the same. Raises RecallError if the dataset cannot be read any more.
    """
    for id, entry in bench.entries.items():
        if id not in done:
            yield _asked(bench, memory, entry)


def _asked(bench: Bench, memory: Memory, entry: Entry) -> Line:
    question = entry.question
    try:
        answer = memory.ask(bench.case(entry))
    except CaseError as error:
        return Line(id=question.id, category=question.category, error=one_line(str(error)))
    values = bench.measured(entry, answer, whole=memory.whole)
    stored = answer.usage.get("memory_store_seconds")
    return Line(
        id=question.id,
        category=question.category,
        values=values or {},
        unjudged=UNJUDGED if values is None else "",
        answer=answer.text if answer.usage.get(ANSWERED) else None,
        seconds=answer.usage["memory_recall_seconds"],
        ingest_seconds=stored,
        units=None if stored is None else len(bench.units_of(entry)),
    )
