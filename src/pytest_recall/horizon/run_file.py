"""The files of a long-horizon run: its folder, its journal and its progress."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import Appended, appended, objects
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.horizon.evaluation import Evaluation
from pytest_recall.horizon.published import evaluation_of, failure_line, question_line
from pytest_recall.horizon.question import BenchQuestion
from pytest_recall.horizon.result import differences

QUESTIONS = "questions.jsonl"
FAILURES = "failures.jsonl"
PROGRESS = "progress.jsonl"
RESULT = "result.json"
FILES = (RESULT, PROGRESS, QUESTIONS)
"""What the folder of a run holds; of one that goes on, the last two."""


def run_folder(named: str) -> Path | None:
    """Return the folder of the long-horizon run that is `named` by its folder or by a file in it; None if none is."""
    path = Path(named)
    folder = path.parent if path.name in FILES else path
    return folder if any((folder / name).is_file() for name in FILES) else None


FILLED = ".memory-filled"
"""Is there while the memory holds what this run has told it, so that the one that goes on may empty it."""

Done = dict[tuple[str, str], Evaluation]
"""The newest evaluation of a question at a checkpoint, by the label and the id."""


def header_of(folder: Path) -> Mapping[str, Any] | None:
    """Return the header of the run in `folder`, None if there is none. Raises RecallError."""
    for _, record in appended(folder / PROGRESS):
        if isinstance(record, dict) and record.get("type") == "header":
            return record
    if any(appended(folder / QUESTIONS)):
        raise RecallError(f"{folder / PROGRESS}: has no header; name another folder, or delete this one")
    return None


def check_same(folder: Path, header: Mapping[str, Any]) -> bool:
    """Return whether `folder` has a run, which is of the same configuration. Raises RecallError if it is another.

    One that has asked nothing yet is none.
    """
    there = header_of(folder)
    if there is None or not any(appended(folder / QUESTIONS)):
        return False
    # What JSON makes of it: a tuple is a list there.
    if changed := differences(there, json.loads(json.dumps(header))):
        raise RecallError(f"{folder}: holds another run: {'; '.join(changed)}; name another --out, or ask the same")
    return True


def evaluations(folder: Path, known: Mapping[str, BenchQuestion]) -> Done:
    """Return what the journal in `folder` has, the newest of each. Raises RecallError for a line that is none."""
    found: Done = {}
    path = folder / QUESTIONS
    for number, record in appended(path):
        try:
            one = evaluation_of(record if isinstance(record, dict) else {})
        except ValueError as error:
            raise RecallError(f"{path}:{number}: {error}; delete the line to ask again") from None
        if one.checkpoint is None:
            raise RecallError(f"{path}:{number}: does not say its checkpoint; such a run cannot be gone on with")
        if (question := known.get(one.question.id)) is None:
            told = f"qa.id: {one.question.id!r} is unknown"
            raise RecallError(f"{path}:{number}: {told}; delete the line to ask again")
        # A line does not have all of a question.
        found[one.checkpoint, one.question.id] = replace(one, question=question)
    return found


def reached_lines(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return the newest line of each checkpoint that was reached, by its label."""
    found = (record for _, record in appended(folder / PROGRESS))
    return {one["range"]["label"]: one for one in found if one.get("type") == "checkpoint"}


def is_over(folder: Path) -> bool:
    """Whether the last thing that a run has said is its summary."""
    last = None
    for _, record in appended(folder / PROGRESS):
        last = record
    return last is not None and last.get("type") == "summary"


def starts(folder: Path) -> list[str]:
    """Return when the run was begun, and each time when it was gone on with."""
    found = (record for _, record in appended(folder / PROGRESS))
    return [one["timestamp"] for one in found if one.get("type") in ("header", "resume")]


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Replace a `result.json` at once, indented as published ones are. Raises OSError."""
    write_text(path, json.dumps(result, indent=2, ensure_ascii=False) + "\n")


class RunFiles:
    """The files of a run that are written as it goes; a context manager. Raises OSError."""

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        again = check_same(folder, header)
        if again:
            self._begin_failures()
        else:
            (folder / PROGRESS).unlink(missing_ok=True)
        self._progress = Appended(folder / PROGRESS)
        self._questions = Appended(folder / QUESTIONS)
        self._failures = Appended(folder / FAILURES)
        self._progress.append({"type": "resume", "timestamp": header["timestamp"]} if again else header)

    def _begin_failures(self) -> None:
        """Write `failures.jsonl` again from the journal: a run may have been killed between the two lines."""
        lines = [json.dumps(line) for _, one in appended(self.folder / QUESTIONS) if (line := failure_line(one))]
        if lines:
            write_text(self.folder / FAILURES, "\n".join([*lines, ""]))

    def add(self, one: Evaluation) -> None:
        """Write an evaluation down."""
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
        for file in (self._progress, self._questions, self._failures):
            file.__exit__(kind, error, trace)


class Lines(NamedTuple):
    """The lines of a run's folder: `header` and `summary` are the last ones, of a checkpoint the last one counts.

    `written` are the lines of `questions.jsonl` and `questions` what they hold, both None without that file.
    """

    header: Mapping[str, Any]
    checkpoints: tuple[Mapping[str, Any], ...]
    summary: Mapping[str, Any]
    questions: tuple[Evaluation, ...] | None
    written: tuple[Mapping[str, Any], ...] | None

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
            if wrong := wrong_number(plain):
                problems.append(f"{path}:{line}: {wrong} is no number; restore the line")
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

    def place(one: Evaluation) -> tuple[str, str] | None:
        if lines.labelled:
            named = (one.persona, str(one.checkpoint))
            return named if named in known else None
        stops = ends.get(one.persona, [])
        at = bisect_left(stops, one.timestamp, key=lambda stop: stop[0])
        return (one.persona, stops[at][1]) if at < len(stops) else None

    return [place(one) for one in lines.questions or ()]


def _questions(path: Path) -> tuple[tuple[Mapping[str, Any], Evaluation], ...] | None:
    if not path.is_file():
        return None
    found, problems = list[tuple[Mapping[str, Any], Evaluation]](), list[str]()
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


def is_count(value: Any) -> bool:
    """Whether it is a whole number from 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def count_of(value: Any) -> int | None:
    """Return a count; None for what is none."""
    return value if is_count(value) else None


def text_of(path: Path) -> str:
    """Return the text of a file. Raises RecallError."""
    return read_text(path, str(path))
