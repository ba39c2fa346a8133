"""Read and check `eval/rubric.yaml`, and write the one line of it that a command may change."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import parse_mapping, read_mapping


def read_settings(path: Path, name: str) -> Settings:
    """Return the rubric in `path`, or the default one where there is no file. Raises RecallError."""
    if not path.exists():
        return DEFAULT_SETTINGS
    return read_mapping(path, name, Settings, "`owner: <who answers for it>`")


def parse_settings(text: str, name: str) -> Settings:
    """Return the rubric in `text`, which messages call `name`. Raises RecallError."""
    return parse_mapping(text, name, Settings, "`owner: <who answers for it>`")


def place_of_setting(path: Path, name: str, setting: str) -> str:
    """Return where a setting stands in the rubric in `path`, as `name:line`; the name alone if it does not."""
    try:
        line = strict_yaml.lines(read_text(path), name).get((setting,))
    except RecallError:
        line = None
    return name if line is None else f"{name}:{line}"


def gates_in(text: str) -> tuple[Gate, ...]:
    """Return the gates in the text of a rubric; none where an earlier or later version has written something else."""
    try:
        value = strict_yaml.load(text, "rubric.yaml")
        return tuple(map(Gate.model_validate, value.get("gates") or ()))
    except (RecallError, ValidationError, AttributeError, TypeError):
        return ()
