"""Read and check `eval/rubric.yaml`, and write the one line of it that a command may change."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import ValidationError

from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings, StateLayout
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text, write_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.validation import parse_mapping, read_mapping

_STATE = re.compile(r"^state:[ \t]*[\w\"']*(?P<rest>[ \t]*(?:#.*)?)$", re.MULTILINE)


def read_settings(path: Path, name: str) -> Settings:
    """Return the rubric in `path`, or the default one where there is no file. Raises RecallError."""
    if not path.exists():
        return DEFAULT_SETTINGS
    return read_mapping(path, name, Settings, "`owner: <who answers for it>`")


def parse_settings(text: str, name: str) -> Settings:
    """Return the rubric in `text`, which messages call `name`. Raises RecallError."""
    return parse_mapping(text, name, Settings, "`owner: <who answers for it>`")


def gates_in(text: str) -> tuple[Gate, ...]:
    """Return the gates in the text of a rubric; none where an earlier or later version has written something else."""
    try:
        value = strict_yaml.load(text, "rubric.yaml")
        return tuple(map(Gate.model_validate, value.get("gates") or ()))
    except (RecallError, ValidationError, AttributeError, TypeError):
        return ()


def with_layout(path: Path, name: str, layout: StateLayout, *, write: bool) -> None:
    """Give the rubric in `path` the line `state: <layout>`; all else of it stays as it is, comments too.

    Raises RecallError for a file that is not there, or in which the line cannot be told from the rest.
    """
    if not path.exists():
        raise RecallError(f"{name}: no such file; write one with `owner: <who answers for it>` and `state: {layout}`")
    text = read_text(path, name)
    before = strict_yaml.load(text, name)
    line = f"state: {layout}"
    if _STATE.search(text):
        after = _STATE.sub(lambda found: line + found["rest"], text, count=1)
    else:
        after = f"{text}{'' if text.endswith(chr(10)) else chr(10)}{line}\n"
    try:
        fits = strict_yaml.load(after, name) == {**before, "state": layout}
    except RecallError:
        fits = False
    if not fits:
        raise RecallError(f"{name}: its form leaves no place for a line; write `{line}` into it yourself")
    if write:
        write_text(path, after)
