"""Rubric file: `eval/rubric.yaml`, read and checked."""

from __future__ import annotations

from pathlib import Path

from pytest_recall.core.rubric import DEFAULT_RUBRIC, Rubric
from pytest_recall.store.written import read_mapping


def read_rubric(path: Path, name: str) -> Rubric:
    """Return the rubric in `path`, or the default one where there is no file. Raises RecallError."""
    if not path.exists():
        return DEFAULT_RUBRIC
    return read_mapping(path, name, Rubric, "`owner: <who answers for it>`")
