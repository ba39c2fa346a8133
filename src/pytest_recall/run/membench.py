"""Membench: a memory is told the conversations of a dataset and asked its questions, without pytest."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import NamedTuple

from pytest_recall.core.bench import UNJUDGED, evidence_of, retrieval_of
from pytest_recall.core.errors import CaseError, RecallError, one_line
from pytest_recall.core.measure import METRICS, measure
from pytest_recall.core.membench import Arguments, Fold, Line, Summary
from pytest_recall.core.retrieval import MAX_K
from pytest_recall.datasets.dataset import digest
from pytest_recall.memory.client import Client
from pytest_recall.metrics.stems import stem
from pytest_recall.run.bench import Bench, Entry
from pytest_recall.run.loop import Loop
from pytest_recall.run.memory import Memory
from pytest_recall.store.files import locked
from pytest_recall.store.membench import Journal, begun

EVERY = 10.0
"""Seconds between two lines that say how far it is."""
SHOWN = 5
"""Failures that are told one by one."""
_OTHERS = {"seconds", "tokens_stored", "tokens_read"}


class Found(NamedTuple):
    """What a run came to, and the first of its failures."""

    summary: Summary
    failed: tuple[Line, ...]


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
    bench: Bench, client: Client, folder: Path, arguments: Arguments, *, allowed: bool, tell: Callable[[str], None]
) -> Found:
    """Ask the questions that the journal in `folder` has not yet, and return what all of them came to.

    `allowed` says that a memory may be reset that is not empty; `tell` takes sentences for whoever waits.
    Raises RecallError, also for a run that somebody stops; what was asked is in the journal.
    """
    chosen, missing = metrics_of(bench.dataset.format, client.whole)
    if missing:
        tell(missing)
    total = len(bench.entries)
    fold, failed, done = Fold(total), list[Line](), set[str]()

    def take(line: Line) -> None:
        fold.add(line)
        done.add(line.id)
        if line.error and len(failed) < SHOWN:
            failed.append(line)

    with locked(folder / ".lock"):
        for line in begun(folder, arguments):
            take(line)
        if done:
            tell(f"{folder}: {len(done):,} of {total:,} questions are there")
        if len(done) == total:
            return Found(fold.summary(), tuple(failed))
        told = time.monotonic()
        with _opened(client, allowed) as memory, Journal(folder, arguments) as journal:
            try:
                k = MAX_K if client.whole else arguments.k
                for line in ask_all(bench, memory, frozenset(done), k, chosen):
                    journal.add(line)
                    take(line)
                    if time.monotonic() - told >= EVERY:
                        told = time.monotonic()
                        tell(f"{len(done):,} of {total:,} questions")
            except KeyboardInterrupt:
                raise RecallError(f"{folder}: stopped; the same command goes on from here") from None
    return Found(fold.summary(), tuple(failed))


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


def metrics_of(dataset: str, whole: bool) -> tuple[frozenset[str], str]:
    """Return the metrics that are worked out for a dataset, and why one of them is missing, if one is.

    A memory that returns its `whole` content has no first k, and no precision.
    """
    names = frozenset(METRICS) - _OTHERS - ({"evidence_precision_at_k"} if whole else frozenset())
    names -= {"locomo_f1"} if dataset != "locomo" else frozenset()
    if "locomo_f1" in names:
        try:
            stem("word")
        except ModuleNotFoundError as error:
            return names - {"locomo_f1"}, f"locomo_f1 is left out: it {error}"
    return names, ""


def ask_all(bench: Bench, memory: Memory, done: frozenset[str], k: int, chosen: frozenset[str]) -> Iterator[Line]:
    """Yield what comes of each question that is not `done`, in the order of the dataset.

    A conversation is stored once for its questions. What breaks is a failure of its question, and the others
    are asked all the same. Raises RecallError if the dataset cannot be read any more.
    """
    for id, entry in bench.entries.items():
        if id not in done:
            yield _asked(bench, memory, entry, k, chosen)


def _asked(bench: Bench, memory: Memory, entry: Entry, k: int, chosen: frozenset[str]) -> Line:
    question, dataset = entry.question, bench.dataset.format
    evidence = evidence_of(question, bench.asked.unit)
    case = bench.case(entry)
    units = bench.units_of(entry)
    try:
        answer = memory.ask(case)
    except CaseError as error:
        return Line(id=question.id, category=question.category, error=one_line(str(error)))
    found = retrieval_of(question, evidence, units, answer, dataset)
    stored = answer.usage.get("memory_store_seconds")
    return Line(
        id=question.id,
        category=question.category,
        values={} if found is None else measure(found, k, chosen),
        unjudged=UNJUDGED if found is None else "",
        seconds=answer.usage["memory_recall_seconds"],
        ingest_seconds=stored,
        units=None if stored is None else len(units),
    )
