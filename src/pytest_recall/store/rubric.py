"""Rubric file: `eval/rubric.yaml`, read and checked."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.rubric import DEFAULT_RUBRIC, Rubric
from pytest_recall.store import strictyaml
from pytest_recall.store.files import read_text
from pytest_recall.store.written import explain


def read_rubric(path: Path, name: str) -> Rubric:
    """Return the rubric in `path`, or the default one where there is no file. Raises RecallError."""
    if not path.exists():
        return DEFAULT_RUBRIC
    text = read_text(path, name)
    value = strictyaml.load(text, name)
    if not isinstance(value, dict):
        raise RecallError(f"{name}:1: must be a mapping; start with `owner: <who answers for it>`")
    try:
        return Rubric.model_validate(value)
    except ValidationError as error:
        found = strictyaml.lines(text, name)
        raise RecallError(*explain(error, Rubric, name, lambda path: found.get(path, 1))) from None
