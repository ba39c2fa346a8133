"""Write the published files of a long-horizon run from its journal, and read those of any program."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pytest_recall.files.disk import locked, names_in, read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended, objects
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.published import evaluation_of, failure_line, question_line
from pytest_recall.memory.filled import FilledMark
from pytest_recall.trials.journal import NAME, Journal

QUESTIONS = "questions.jsonl"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
RESULT = "result.json"
FILES = (RESULT, PROGRESS, QUESTIONS)
"""What the folder of a run holds beside its journal."""


def run_folder(named: str, *beside: Path) -> Path | None:
    """Return the folder of the long-horizon run that is `named` by its folder, a file in it or its name in `beside`.

    None if none is.
    """
    path = Path(named)
    folders = (path.parent if path.name in FILES else path, *(folder / named for folder in beside))
    return next((one for one in folders if any((one / name).is_file() for name in FILES)), None)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes out of the folder of a run; it is removed again if nothing was written to it.

    Raises RecallError if another process is at it.
    """
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    lock = folder / ".lock"
    with locked(lock, f"{folder}: another run is at it; wait, or name another --out"):
        try:
            yield
        finally:
            if made and names_in(folder) == [lock.name]:
                with suppress(OSError):  # Another process may have begun a run there.
                    lock.unlink()
                    for one in made:
                        one.rmdir()


PERSONA = "persona"
"""What the header of a journal says that its questions are about."""


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Replace a `result.json` at once, indented as published ones are. Raises OSError."""
    write_text(path, json.dumps(result, indent=2, ensure_ascii=False) + "\n")


class ToldDays(FilledMark):
    """Which days a memory holds. A run that resumes a killed one may also continue with these."""

    @property
    def last(self) -> int | None:
        """The last day of which it was told all; 0 before the first, None if it was told a day in part."""
        lines = self.lines
        if not lines:
            return 0
        word, _, day = lines[-1].partition(" ")
        return int(day) if word == "told" and day.isdecimal() else None


class RunFiles:
    """The journal of a run, and the published files that are written from it as it goes; a context manager.

    `progress` are the lines that `progress.jsonl` begins with, `before` the trials that the journal has. Raises
    OSError.
    """

    def __init__(
        self,
        journal: Journal,
        progress: Iterable[Mapping[str, Any]],
        before: Iterable[CheckpointTrial],
    ) -> None:
        self.journal, folder = journal, journal.folder
        self.said: set[str] = set()
        """The checkpoints whose lines this process has added."""
        with ExitStack() as stack:
            # Written again: a run may have been killed after a line of the journal and before theirs.
            written = [question_line(one) for one in before]
            failed = [line for one in written if (line := failure_line(one)) is not None]
            for name, lines in ((PROGRESS, progress), (QUESTIONS, written), (FAILURES, failed)):
                write_text(folder / name, "".join(f"{json.dumps(line)}\n" for line in lines))
            self._progress, self._questions, self._failures = (
                stack.enter_context(Appended(folder / name)) for name in (PROGRESS, QUESTIONS, FAILURES)
            )
            self._stack = stack.pop_all()

    def add(self, one: CheckpointTrial) -> None:
        """Write down a trial that the journal has."""
        line = question_line(one)
        self._questions.append(line)
        if (failure := failure_line(line)) is not None:
            self._failures.append(failure)

    def tell(self, line: Mapping[str, Any]) -> None:
        """Append a line to `progress.jsonl`."""
        self._progress.append(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


class Lines(NamedTuple):
    """The lines of a run's folder."""

    header: Mapping[str, Any]
    """The last one."""
    checkpoints: tuple[Mapping[str, Any], ...]
    """The last one of each checkpoint."""
    summary: Mapping[str, Any]
    """The last one."""
    questions: tuple[CheckpointTrial, ...] | None
    """What the lines of `questions.jsonl` hold; None without that file."""
    written: tuple[Mapping[str, Any], ...] | None
    """The lines of `questions.jsonl`; None without that file."""

    @property
    def labelled(self) -> bool:
        """Whether every question says at which checkpoint it was asked."""
        return bool(self.questions) and all(one.checkpoint is not None for one in self.questions or ())


def read_lines(folder: Path) -> Lines:
    """Return the lines of `progress.jsonl` and `questions.jsonl`. Raises RecallError."""
    header: Mapping[str, Any] = {}
    summary: Mapping[str, Any] = {}
    stops: dict[tuple[str, str], Mapping[str, Any]] = {}
    path, problems = folder / PROGRESS, list[str]()
    for line, plain, problem in objects(text_of(path)) if path.is_file() else ():
        kind = plain.get("type")
        if problem:
            continue  # A killed run began it, and the one that went on ended it.
        if kind == "header":
            # A resumed run begins again, of which the ranges may be others.
            header = plain
        elif kind == "summary":
            summary = plain
        elif kind == "checkpoint":
            label = plain["range"].get("label") if isinstance(plain.get("range"), dict) else None
            if not isinstance(label, str) or not is_count(plain.get("daysIngested")):
                problems.append(f"{path}:{line}: says no `range.label` or no `daysIngested`; restore the line")
                continue
            if not _are_units(plain.get("newUnits", [])):
                problems.append(f"{path}:{line}: newUnits: is not a list of ids and their tokens; restore the line")
            if wrong := wrong_number(plain):
                problems.append(f"{path}:{line}: {wrong} is not a number; restore the line")
            stops[str(plain.get("personaId")), label] = plain
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    found = _questions(folder / QUESTIONS)
    written, questions = (None, None) if found is None else (tuple(a for a, _ in found), tuple(b for _, b in found))
    return Lines(header, tuple(stops.values()), summary, questions, written)


def places_of(lines: Lines) -> list[tuple[str, str] | None]:
    """Return the persona and the label at which each question was asked; None where no checkpoint came after it."""
    ends: dict[str, list[tuple[str, str]]] = {}
    for one in lines.checkpoints:
        ends.setdefault(str(one.get("personaId")), []).append((str(one.get("timestamp")), str(one["range"]["label"])))
    for stops in ends.values():
        stops.sort(key=lambda stop: stop[0])
    known = {(persona, label) for persona, stops in ends.items() for _, label in stops}

    def place(one: CheckpointTrial) -> tuple[str, str] | None:
        if lines.labelled:
            named = (one.persona, str(one.checkpoint))
            return named if named in known else None
        stops = ends.get(one.persona, [])
        at = bisect_left(stops, one.timestamp, key=lambda stop: stop[0])
        return (one.persona, stops[at][1]) if at < len(stops) else None

    return [place(one) for one in lines.questions or ()]


def _questions(path: Path) -> tuple[tuple[Mapping[str, Any], CheckpointTrial], ...] | None:
    if not path.is_file():
        return None
    found, problems = list[tuple[Mapping[str, Any], CheckpointTrial]](), list[str]()
    for line, plain, problem in objects(text_of(path)):
        if problem:
            continue  # A killed run began it, and the one that went on ended it.
        try:
            found.append((plain, evaluation_of(plain)))
        except ValueError as error:
            problems.append(f"{path}:{line}: {error}; restore the line, or remove it")
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return tuple(found)


def wrong_number(row: Mapping[str, Any]) -> str:
    """Return which of the numbers that pictures are drawn from is none, empty if all are."""
    for name in ("questionsEvaluated", "overallScore", "hallucinationRate"):
        # A rate that was not measured is null.
        nothing = name == "hallucinationRate" and name in row and row[name] is None
        if not nothing and not isinstance(row.get(name, 0), int | float):
            return name
    rows = row.get("categoryScores", [])
    if not isinstance(rows, list) or not all(isinstance(one, dict) for one in rows):
        return "categoryScores"
    for place, one in enumerate(rows):
        for name in ("meanScore", "questionCount"):
            if not isinstance(one.get(name), int | float):
                return f"categoryScores[{place}].{name}"
    return ""


def _are_units(value: Any) -> bool:
    """Whether it is what a checkpoint's line says of the texts that are new there."""
    return isinstance(value, list) and all(
        isinstance(one, list) and len(one) == 2 and isinstance(one[0], str) and is_count(one[1]) for one in value
    )


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def count_of(value: Any) -> int | None:
    """Return a count; None for what is none."""
    return value if is_count(value) else None


def text_of(path: Path) -> str:
    """Return the text of a file. Raises RecallError."""
    return read_text(path, str(path))


def answered_at(folder: Path) -> int:
    """Return when the answers of the run in a folder were written last, in nanoseconds; 0 where nothing says so."""
    journal = folder / NAME
    # Without a new answer a run writes its other files again.
    files = [journal] if journal.is_file() else [folder / name for name in (RESULT, PROGRESS, QUESTIONS)]
    return max((path.stat().st_mtime_ns for path in files if path.is_file()), default=0)
