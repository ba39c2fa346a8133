"""Recognise: which dataset a file is, by the fields of its first row, and what else it is if it is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pytest_recall.core.dataset import Sample
from pytest_recall.core.errors import RecallError, one_line
from pytest_recall.datasets import dmr, locomo, longmemeval
from pytest_recall.datasets.fields import called
from pytest_recall.datasets.rows import opened, rows, whole

Format = Literal["locomo", "longmemeval", "dmr"]


class Layout(NamedTuple):
    """How a dataset is laid out: as lines or as an array, by which fields one knows a row, and who reads it."""

    title: str
    lines: bool
    marks: frozenset[str]
    read: Callable[[Any, str, int], Sample]

    @property
    def shape(self) -> str:
        """What the file is, in words."""
        fields = " and ".join(f"`{mark}`" for mark in sorted(self.marks))
        return f"{'JSON Lines' if self.lines else 'an array'} whose rows have {fields}"


LAYOUTS: Mapping[Format, Layout] = {
    "locomo": Layout("LoCoMo", False, frozenset({"conversation", "qa"}), locomo.sample),
    "longmemeval": Layout("LongMemEval", False, frozenset({"haystack_sessions", "question_id"}), longmemeval.sample),
    "dmr": Layout("DMR", True, frozenset({"previous_dialogs", "self_instruct"}), dmr.sample),
}
_FIRST = 64 * 1024
_SESSION = re.compile(r"session_\d+")


def recognise(path: Path, name: str) -> Format:
    """Return which dataset the file is; messages call it `name`.

    Raises RecallError for a file that is none of them, and says which other layout it is, if that is known.
    """
    with opened(path, name) as file:
        start = file.read(_FIRST)
    said = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if start[:2] in (b"\x1f\x8b", b"PK"):
        raise RecallError(f"{name}: is compressed; unpack it first")
    if said.startswith(b"version https://git-lfs"):
        raise RecallError(f"{name}: is a pointer of Git LFS and not the file itself; fetch that")
    if not said:
        raise RecallError(f"{name}: is empty; {_known()}")
    if said[:1] not in (b"[", b"{"):
        raise RecallError(f"{name}: is neither a JSON array nor JSON Lines; {_known()}")
    lines = said[:1] == b"{"
    row = _first(path, name, lines)
    if row is None:
        raise RecallError(f"{name}: has no rows; {_known()}")
    for format, layout in LAYOUTS.items():
        if layout.marks <= row.keys():
            if layout.lines != lines:
                other = "an array" if layout.lines else "an object or JSON Lines"
                raise RecallError(f"{name}: is {layout.title} as {other}; as published it is {layout.shape}")
            return format
    raise RecallError(f"{name}: is {_other(row)}; {_known()}")


def _first(path: Path, name: str, lines: bool) -> Mapping[str, Any] | None:
    """Return the first row, None if there is none. Raises RecallError if it is no object."""
    # What begins with a brace may be JSON Lines or one object, and one that is indented is no line.
    try:
        found = next(rows(path, name, lines=lines), None)
    except RecallError:
        if lines and isinstance(value := whole(path, name), dict):
            return value
        raise
    if found is None:
        return None
    if not isinstance(found[1], dict):
        raise RecallError(f"{name}: row {found[0]}: expected an object, found {called(found[1])}; {_known()}")
    return found[1]


def _other(row: Mapping[str, Any]) -> str:
    """Return what a row seems to be that is of no published file."""
    values = [value for value in row.values() if isinstance(value, dict)]
    if any("question_answer_pairs" in value or any(map(_SESSION.fullmatch, value)) for value in values):
        return "an object of conversations by id, another layout of LoCoMo"
    if any(map(_SESSION.fullmatch, row)):
        return "a conversation of LoCoMo with its sessions at the top, its older layout, a file for each"
    if "question_type" in row or "question_id" in row:
        return f"{'`sessions`' if 'sessions' in row else 'no `haystack_sessions`'} in the layout of LongMemEval"
    if "previous_dialogs" in row:
        return "Multi-Session Chat without the `self_instruct` of DMR"
    if {"question", "query"} & row.keys() and {"conversation", "turns"} & row.keys():
        return "questions with a `conversation` each, no layout that a dataset is published in"
    fields = ", ".join(f"`{one_line(key, 30)}`" for key in list(row)[:5]) or "no fields"
    return f"no dataset that is known: its first row has {fields}"


def _known() -> str:
    shapes = "; ".join(f"{layout.title} is {layout.shape}" for layout in LAYOUTS.values())
    return f"known: {shapes}"
