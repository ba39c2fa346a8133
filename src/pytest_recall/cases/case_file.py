"""Read case files: all ids at once, a row only when it is needed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from pytest_recall.cases.case import ID_PATTERN, Case, composed
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.validation import MAX_PROBLEMS, SPELLING, explain
from pytest_recall.files.wording import one_line

LAZY_BYTES = 1024 * 1024
"""Above this size only the rows that are wanted are parsed; `recall check` reads them all."""

_ROW = re.compile(r"""^- id: (?:"([^"\\\n]+)"|'([^'\n]+)'|([^\s"'#&*!|>%@`{\[,][^\s#]*))[ ]*$""", re.MULTILINE)
_ID = re.compile(ID_PATTERN)
_TOP = re.compile(r"^[^\s#]", re.MULTILINE)


class CaseFile:
    """The rows of one case file: their ids at once, the cases when asked for.

    `name` is how messages call the file; `lines` maps each case id to the line of its row,
    counted from 1. Files up to `LAZY_BYTES` are read and validated whole at once. `text` takes
    the place of what is in the file now.
    """

    reason = ""
    memory = ""
    memory_config: Mapping[str, Any] = MappingProxyType({})
    root = None

    def __init__(self, path: Path, name: str, text: str | None = None) -> None:
        self.path = path
        self.name = name
        text = read_text(path, name) if text is None else text
        self._parts, problems = _json_rows(text, name) if path.suffix == ".jsonl" else _yaml_rows(text, name)
        self.lines = {part.id: part.line for part in self._parts.values()}
        self._cases: dict[str, Case] = {}
        if problems or len(text) <= LAZY_BYTES:
            try:
                self.cases()
            except RecallError as error:
                problems += error.messages
        if problems:
            raise RecallError(*sorted(problems, key=_line_in)[:MAX_PROBLEMS])

    def cases(self, ids: Iterable[str] | None = None) -> list[Case]:
        """Return the cases with these ids, or all, in the order of the file. Raises RecallError."""
        asked = None if ids is None else set(ids)
        wanted = [case_id for case_id in self._parts if asked is None or case_id in asked]
        problems: list[str] = []
        found: list[Case] = []
        for case_id in wanted:
            case = self._cases.get(case_id)
            if case is None:
                if len(problems) >= MAX_PROBLEMS:
                    break
                try:
                    case = self._cases[case_id] = self._parts[case_id].case()
                except RecallError as error:
                    problems.extend(error.messages)
                    continue
            found.append(case)
        if problems:
            raise RecallError(*problems)
        return found


class _Part:
    """One row: where it stands, and its values once they are wanted.

    `text` is the YAML that holds the row under `path`; JSON rows have their value already
    and stand on a single line.
    """

    __slots__ = ("id", "line", "name", "path", "text", "text_line", "value")

    def __init__(
        self,
        case_id: str,
        name: str,
        line: int,
        *,
        text: str = "",
        text_line: int = 1,
        path: int = 0,
        value: Any = None,
    ) -> None:
        self.id = composed(case_id)
        self.name = name
        self.line = line
        self.text = text
        self.text_line = text_line
        self.path = path
        self.value = value

    def case(self) -> Case:
        value = self.value
        if value is None:
            value = strict_yaml.load(self.text, self.name, self.text_line)[self.path]
        try:
            case = Case.model_validate(value)
            self.value = None
            return case
        except ValidationError as error:
            raise RecallError(*explain(error, Case, self.name, self._line_of)) from None

    def _line_of(self, path: tuple[str | int, ...]) -> int:
        if not self.text:
            return self.line
        found = strict_yaml.lines(self.text, self.name, self.text_line)
        # A field that is missing is a mistake of what it is missing in.
        above = ((self.path, *path[:depth]) for depth in range(len(path), -1, -1))
        return next((found[place] for place in above if place in found), self.line)


Rows = tuple[dict[str, _Part], list[str]]
"""Rows by id, and what is wrong with those that have none of their own."""


def _line_in(problem: str) -> int:
    found = re.search(r":(\d+): ", problem)
    return int(found[1]) if found else 0


def _yaml_rows(text: str, name: str) -> Rows:
    if (line := strict_yaml.conflict_line(text)) is not None:
        raise RecallError(f"{name}:{line}: merge-conflict marker; resolve the conflict, then run again")
    starts = list(_ROW.finditer(text))
    # The shape is the usual one if nothing else stands in the first column. Then the text
    # can be cut into rows; anything else is read as one document, to the same result.
    usual = (
        starts
        and len(starts) == len(_TOP.findall(text))
        and all(line.lstrip()[:1] in ("", "#") for line in text[: starts[0].start()].split("\n"))
        and "&" not in text
        and "*" not in text
    )
    rows = _cut(text, name, starts) if usual else None
    return _whole(text, name) if rows is None else rows


def _cut(text: str, name: str, starts: list[re.Match[str]]) -> Rows | None:
    """Return the rows that begin at `starts`; None if those are not rows, but lines of a quoted text."""
    # A small file is wanted whole, and one parse is faster than one for each row.
    values = strict_yaml.load(text, name) if len(text) <= LAZY_BYTES else None
    if values is not None and len(values) != len(starts):
        return None
    parts: dict[str, _Part] = {}
    problems: list[str] = []
    line, position = 1, 0
    for index, match in enumerate(starts):
        line += text.count("\n", position, match.start())
        position = match.start()
        end = starts[index + 1].start() if index + 1 < len(starts) else len(text)
        case_id = match[1] or match[2] or match[3]
        if match[3] is not None and not isinstance(strict_yaml.scalar(case_id), str):
            problems.append(_no_text(name, line, strict_yaml.scalar(case_id), case_id))
            continue
        if not _ID.match(composed(case_id)):
            return None
        value = None if values is None else values[index]
        _add(parts, _Part(case_id, name, line, text=text[position:end], text_line=line, value=value), problems)
    return parts, problems


def _whole(text: str, name: str) -> Rows:
    rows = strict_yaml.load(text, name)
    if rows is None:
        return {}, []
    if not isinstance(rows, list):
        raise RecallError(f"{name}:1: must be a list of cases; start each with `- id: <id>`")
    where = strict_yaml.lines(text, name)
    parts: dict[str, _Part] = {}
    problems: list[str] = []
    for index, row in enumerate(rows):
        line = where[(index,)]
        case_id = row.get("id") if isinstance(row, dict) else None
        if isinstance(case_id, str):
            _add(parts, _Part(case_id, name, line, text=text, path=index, value=row), problems)
        else:
            problems.append(_no_id(name, line, row))
    return parts, problems


def _json_rows(text: str, name: str) -> Rows:
    parts: dict[str, _Part] = {}
    problems: list[str] = []
    for line, row_text in enumerate(text.split("\n"), start=1):
        if not row_text.strip():
            continue
        try:
            row = strict_json(row_text)
        except (ValueError, RecursionError) as error:
            marker = strict_yaml.conflict_line(row_text)
            problem = "merge-conflict marker; resolve the conflict" if marker else f"not JSON ({error})"
            problems.append(f"{name}:{line}: {problem}; write one object per line")
            continue
        case_id = row.get("id") if isinstance(row, dict) else None
        if not isinstance(case_id, str):
            problems.append(_no_id(name, line, row))
            continue
        if not _ID.match(composed(case_id)):
            problems.append(f"{name}:{line}: id: {one_line(repr(case_id), 60)} does not fit; {SPELLING['id']}")
            continue
        _add(parts, _Part(case_id, name, line, value=row), problems)
    return parts, problems


def _no_id(name: str, line: int, row: Any) -> str:
    if not isinstance(row, dict):
        return f"{name}:{line}: a case is a mapping; start it with `id: <id>`"
    if "id" not in row:
        return f"{name}:{line}: id: is missing; add it"
    return _no_text(name, line, row["id"], row["id"])


def _no_text(name: str, line: int, value: Any, written: object) -> str:
    if value is None:
        return f"{name}:{line}: id: has no value; give it one"
    return f'{name}:{line}: id: {written} is not text; write it in quotes: "{written}"'


def _add(parts: dict[str, _Part], part: _Part, problems: list[str]) -> None:
    first = parts.get(part.id)
    if first is None:
        parts[part.id] = part
    else:
        problems.append(
            f"{part.name}:{part.line}: id: `{part.id}` is already the case on line {first.line}; choose another"
        )


def check_unique(files: Iterable[CaseFile]) -> None:
    """Raise RecallError for every id that two of `files` share, naming both places."""
    places: dict[str, str] = {}
    problems: list[str] = []
    for file in files:
        for case_id, line in file.lines.items():
            place = f"{file.name}:{line}"
            if case_id in places:
                problems.append(f"{place}: id: `{case_id}` is already the case at {places[case_id]}; choose another")
            places.setdefault(case_id, place)
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
