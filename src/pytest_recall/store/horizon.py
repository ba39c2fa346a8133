"""Files of a long-horizon run: the journal `questions.jsonl`, `failures.jsonl`, `progress.jsonl`, `result.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_recall.core.errors import RecallError
from pytest_recall.core.horizon.configuration import differences
from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.published import evaluation_of
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.core.horizon.record import failure_line, question_line
from pytest_recall.store.files import write_text
from pytest_recall.store.horizon_folder import FAILURES, PROGRESS, QUESTIONS
from pytest_recall.store.lines import Appended, appended

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
        """Write `failures.jsonl` anew from the journal: a run may have been killed between the two lines."""
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
