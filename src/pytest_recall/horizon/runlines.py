"""Lines of a run: `progress.jsonl` and `questions.jsonl`, and to which checkpoint an answer belongs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.core.errors import RecallError
from pytest_recall.core.horizon.evaluation import Evaluation
from pytest_recall.core.horizon.published import evaluation_of
from pytest_recall.store.files import read_text
from pytest_recall.store.horizon_folder import PROGRESS, QUESTIONS
from pytest_recall.store.lines import objects
from pytest_recall.store.written import MAX_PROBLEMS


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
