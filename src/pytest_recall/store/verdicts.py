"""Verdicts: a table of them as lines of JSON, of runs that ran everything."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.history import Line
from pytest_recall.store.files import read_text
from pytest_recall.store.lines import objects
from pytest_recall.store.written import MAX_PROBLEMS, explain


def read_verdicts(path: Path, name: str) -> list[Line]:
    """Return the lines of the table in `path`. Raises RecallError, with a sentence for each line that is wrong."""
    found: list[Line] = []
    problems: list[str] = []
    for number, value, problem in objects(read_text(path, name)):
        if problem:
            problems.append(f"{name}:{number}: {problem}")
            continue
        try:
            found.append(Line.model_validate(value))
        except ValidationError as error:
            problems += explain(error, Line, name, lambda _, at=number: at)  # type: ignore[misc]
        if len(problems) >= MAX_PROBLEMS:
            break
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return found
