"""Run a memory over the questions of a dataset without pytest, and keep a journal of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.datasets.cases import DatasetCases, QuestionEntry, metrics_of
from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.file import digest
from pytest_recall.datasets.membench import (
    FORMAT,
    Arguments,
    JudgedAnswer,
    MembenchSummary,
    QuestionLine,
    differences,
    fold,
    kept,
    plain,
)
from pytest_recall.files.disk import locked
from pytest_recall.files.errors import CaseError, RecallError, StoppedError, one_line
from pytest_recall.files.json_lines import Appended, appended
from pytest_recall.memory.client import Client
from pytest_recall.memory.session import Memory
from pytest_recall.trials.concurrency import Loop
from pytest_recall.trials.trial import ANSWERED, UNJUDGED

NAME = "questions.jsonl"
JUDGED_NAME = "judged.jsonl"


def begun(folder: Path, arguments: Arguments) -> Iterator[QuestionLine]:
    """Yield the lines that are there from an earlier run with the same arguments.

    A last line that was cut off is left out. Raises RecallError where the arguments are others.
    """
    path = folder / NAME
    for number, record in appended(path):
        try:
            if number == 1:
                if record["format"] != FORMAT:
                    raise RecallError(f"{path}:1: format {record['format']} is unknown here; upgrade pytest-recall")
                changed = differences(record["arguments"], arguments)
                if changed:
                    raise RecallError(f"{path}: {'; '.join(changed)}; ask the same as before, or name another --out")
                continue
            yield QuestionLine.from_json(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RecallError(f"{path}:{number}: is no line of a membench; delete the folder to start again") from None


def folder_of(named: str, *beside: Path) -> Path | None:
    """Return the folder of the journal that `named` means: itself, its file, or one of that name in `beside`."""
    path = Path(named)
    folders = (path.parent if path.name == NAME else path, *(folder / named for folder in beside))
    return next((folder for folder in folders if (folder / NAME).is_file()), None)


def read_asked(folder: Path, name: str) -> JournalContents:
    """Return what the journal in the folder holds, which messages call `name`. Raises RecallError."""
    begin: Any = next((record for number, record in appended(folder / NAME) if number == 1), None)
    try:
        kept = dict(begin["arguments"])
        head = Arguments(**{**kept, "categories": tuple(kept["categories"])})
    except (ValueError, KeyError, TypeError):
        raise RecallError(f"{folder / NAME}:1: is no head of a membench; name the folder of one") from None
    return JournalContents(name, kept, {line.id: line for line in begun(folder, head)}, tuple(judged(folder)))


def judged(folder: Path) -> Iterator[JudgedAnswer]:
    """Yield what models said of the answers; of what was judged again the last one holds. Raises RecallError."""
    path = folder / JUDGED_NAME
    for number, record in appended(path):
        try:
            yield JudgedAnswer.from_json(record)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise RecallError(
                f"{path}:{number}: is no judgement of a membench; delete the file to judge again"
            ) from None


class MembenchJournal(Appended):
    """The journal of a run, begun or gone on with; a context manager. Raises OSError."""

    def __init__(self, folder: Path, arguments: Arguments) -> None:
        super().__init__(folder / NAME)
        if not self._file.tell():
            self.append({"format": FORMAT, "arguments": plain(arguments)})

    def add(self, line: QuestionLine) -> None:
        """Append a line."""
        self.append(line.to_json())


class Judgements(Appended):
    """The file of what models said of the answers; a context manager. Raises OSError."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / JUDGED_NAME)

    def add(self, one: JudgedAnswer) -> None:
        """Append what was said of an answer."""
        self.append(one.to_json())


EVERY = 10.0
"""Seconds between two lines that say how far it is."""
SHOWN = 5
"""Failures that are told one by one."""


class MembenchResult(NamedTuple):
    """What a run came to so far: the questions that were asked, in the order of the dataset, of `total`."""

    lines: tuple[QuestionLine, ...]
    total: int

    @property
    def summary(self) -> MembenchSummary:
        """What all of them came to."""
        return fold(self.lines, self.total)

    @property
    def failed(self) -> tuple[QuestionLine, ...]:
        """The first of its failures."""
        return tuple(line for line in self.lines if line.error)[:SHOWN]


def arguments_of(bench: DatasetCases, client: Client) -> Arguments:
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
    bench: DatasetCases,
    client: Client,
    folder: Path,
    arguments: Arguments,
    *,
    allowed: bool,
    tell: Callable[[str], None],
    keeps_failed: bool = False,
) -> MembenchResult:
    """Ask the questions that the journal in `folder` has no verdict on yet, and return what all of them came to.

    A question that failed is asked again, unless the run `keeps_failed` ones. `allowed` says that a memory may be
    reset that is not empty; `tell` takes sentences for the caller. Raises RecallError, also for a run that
    is stopped; what was asked is in the journal.
    """
    _, missing = metrics_of(bench.dataset.format, client.whole)
    if missing:
        tell(missing)
    total = len(bench.entries)
    lines: dict[str, QuestionLine] = {}
    with locked(folder / ".lock"):
        for line in begun(folder, arguments):
            lines[line.id] = line  # Of a question that was asked again the last one holds.
        done = frozenset(id for id, line in lines.items() if keeps_failed or not line.error)
        if lines:
            tell(f"{folder}: {kept(lines.values(), total, keeps_failed)}")
        if len(done) < total:
            told = time.monotonic()
            with _opened(client, allowed) as memory, MembenchJournal(folder, arguments) as journal:
                try:
                    for count, line in enumerate(ask_all(bench, memory, done), start=len(done) + 1):
                        journal.add(line)
                        lines[line.id] = line
                        if time.monotonic() - told >= EVERY:
                            told = time.monotonic()
                            tell(f"{count:,} of {total:,} questions")
                except KeyboardInterrupt:
                    raise StoppedError(f"{folder}: stopped; the same command continues it") from None
    return MembenchResult(tuple(lines[id] for id in bench.entries if id in lines), total)


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


def ask_all(bench: DatasetCases, memory: Memory, done: frozenset[str]) -> Iterator[QuestionLine]:
    """Yield what comes of each question that is not `done`, in the order of the dataset.

    A conversation is stored once for its questions. What breaks is a failure of its question, and the others
    are asked all the same. Raises RecallError if the dataset cannot be read any more.
    """
    for id, entry in bench.entries.items():
        if id not in done:
            yield _asked(bench, memory, entry)


def _asked(bench: DatasetCases, memory: Memory, entry: QuestionEntry) -> QuestionLine:
    question = entry.question
    try:
        answer = memory.ask(bench.case(entry))
    except CaseError as error:
        return QuestionLine(id=question.id, category=question.category, error=one_line(str(error)))
    values = bench.measured(entry, answer, whole=memory.whole)
    stored = answer.usage.get("memory_store_seconds")
    return QuestionLine(
        id=question.id,
        category=question.category,
        values=values or {},
        unjudged=UNJUDGED if values is None else "",
        answer=answer.text if answer.usage.get(ANSWERED) else None,
        seconds=answer.usage["memory_recall_seconds"],
        ingest_seconds=stored,
        units=None if stored is None else len(bench.units_of(entry)),
    )
