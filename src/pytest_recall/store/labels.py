"""Labels file: answers that people have judged, one JSON object on each line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.label import Label
from pytest_recall.store.files import read_text, write_text
from pytest_recall.store.lines import as_lines, objects
from pytest_recall.store.written import MAX_PROBLEMS, LineOf, explain


class Written(NamedTuple):
    """A label and the line that it is on, counted from 1."""

    label: Label
    line: int


def read_labels(path: Path, name: str) -> list[Written]:
    """Return the labels in the file, which messages call `name`, in its order.

    Raises RecallError with one sentence for each line that is no label, or has the id of another.
    """
    labels: list[Written] = []
    problems: list[str] = []
    seen: dict[str, int] = {}
    for line, value, problem in objects(read_text(path, name)):
        if problem:
            problems.append(f"{name}:{line}: {problem}")
            continue
        try:
            label = Label.model_validate(value)
        except ValidationError as error:
            problems += explain(error, Label, name, _on(line))
            continue
        if label.id in seen:
            problems.append(f"{name}:{line}: id: `{label.id}` is already on line {seen[label.id]}; choose another")
        seen.setdefault(label.id, line)
        labels.append(Written(label, line))
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    if not labels:
        raise RecallError(f"{name}:1: has no labels; write one object per line, such as `recall audit` makes")
    return labels


def _word(label: object) -> object:
    return ("fail", "pass")[label] if isinstance(label, bool) else label


def _on(line: int) -> LineOf:
    return lambda _: line


def append_labels(path: Path, name: str, labels: Sequence[Mapping[str, Any]]) -> int:
    """Append those labels whose ids the file does not have; return how many.

    Raises RecallError for one that says something else than the file, and OSError; nothing is changed then.
    """
    text = read_text(path, name) if path.exists() else ""
    known = {str(value.get("id")): (line, _word(value.get("label"))) for line, value, _ in objects(text)}
    news = [label for label in labels if label["id"] not in known]
    problems = [
        f"{name}:{line}: `{label['id']}` is labelled {said!r}, and was graded {label['label']!r}; correct one of them"
        for label in labels
        if (line := known.get(label["id"], (0, None))[0]) and (said := known[label["id"]][1]) != label["label"]
    ]
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    if news:
        joint = "\n" if text and not text.endswith("\n") else ""
        lines = as_lines(news)
        write_text(path, f"{text}{joint}{lines}")
    return len(news)
