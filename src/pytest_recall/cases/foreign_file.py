"""Read eval sets of other tools, in YAML, JSON, JSON Lines and CSV, with the line of each value."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_recall.cases.imports import Document, Keys
from pytest_recall.files import strict_yaml
from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.json_lines import objects
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.files.wording import one_line

MAX_BYTES = 64 * 1024 * 1024
MAX_FILES = 200
"""Files that one source may refer to."""
MAX_DEPTH = 100
_LINES_DEPTH = 8
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:\n]|[^\s\[\]{},:"]+')
TABLES = (".csv", ".tsv")
"""How the names of tables end; the cells of the second are parted by tabs."""
_DELIMITERS = (";", "\t", "|", ",")
_NAMES = {"\t": "tab"}
_TEXT = (".txt", ".md", ".j2")
_CODE = "is code, and code is not run; save the set as JSON, and import that"
_REFUSED = {
    ".eval": "an .eval file is packed; write it as JSON with `inspect log convert --to json --output-dir logs`,"
    " and import that",
    **dict.fromkeys((".py", ".js", ".ts", ".mjs", ".cjs"), _CODE),
}


def read_document(path: Path, name: str, delimiter: str = ",") -> Document:
    """Return what a file holds, by its ending; the cells of a table are parted by `delimiter`.

    Raises RecallError for one that is large, broken or of another kind.
    """
    _bounded(path, name)
    suffix = path.suffix.lower()
    if suffix in _REFUSED:
        raise RecallError(f"{name}: {_REFUSED[suffix]}")
    text = read_text(path, name)
    match suffix:
        case ".yaml" | ".yml":
            lines = strict_yaml.lines(text, name)
            return Document(name=name, value=_merged(strict_yaml.load(text, name), name), lines=lines)
        case ".json":
            return _json(text, name)
        case ".jsonl" | ".ndjson":
            return _json_lines(text, name)
        case ".csv" | ".tsv":
            tabs = suffix == ".tsv" and delimiter == ","
            return _csv(text, name, "\t" if tabs else delimiter)
        case _ if suffix in _TEXT:
            return Document(name=name, value=text, lines={(): 1})
        case _:
            raise RecallError(f"{name}: `{suffix}` is not read; known: .yaml, .yml, .json, .jsonl, .csv, .tsv")


class Folder:
    """The files that a source may refer to: those below its folder, and not too many."""

    def __init__(self, source: Path, name: str) -> None:
        self._folder = source.parent.resolve()
        self._prefix = name[: -len(source.name)] if name.endswith(source.name) else ""
        self._read: dict[Path, Document] = {}

    def read(self, reference: str, beside: Document) -> Document:
        """Return the file that `beside` names by its path from the folder; the paths of those that fit one with `*`.

        Raises RecallError.
        """
        if "\0" in reference or len(reference) > 1000 or reference.startswith("~"):
            raise RecallError(
                f"{beside.name}: `{one_line(reference, 60)}` is not a path; write one from the config's folder"
            )
        if "*" in reference:
            return self._matching(reference, beside)
        path = (self._folder / reference).resolve()
        if not path.is_relative_to(self._folder):
            raise RecallError(f"{beside.name}: `{one_line(reference, 60)}` is outside of its folder; copy it into it")
        if path not in self._read:
            if len(self._read) >= MAX_FILES:
                raise RecallError(f"{beside.name}: refers to more than {MAX_FILES} files; import it in parts")
            inner = path.relative_to(self._folder).as_posix()
            self._read[path] = replace(read_document(path, f"{self._prefix}{inner}"), files=self.read)
        return self._read[path]

    def _matching(self, pattern: str, beside: Document) -> Document:
        try:
            found = (path.resolve() for path in self._folder.glob(pattern) if path.is_file())
            paths = sorted(path for path in found if path.is_relative_to(self._folder))
        except (ValueError, NotImplementedError, OSError):
            paths = []
        if not paths:
            raise RecallError(
                f"{beside.name}: no file fits `{one_line(pattern, 60)}`; write paths from the config's folder"
            )
        if len(paths) > MAX_FILES:
            raise RecallError(f"{beside.name}: refers to more than {MAX_FILES} files; import it in parts")
        names = [path.relative_to(self._folder).as_posix() for path in paths]
        return Document(name=beside.name, value=names, lines=beside.lines, files=self.read)


def _bounded(path: Path, name: str) -> None:
    try:
        size, regular = path.stat().st_size, path.is_file()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such name"
        raise RecallError(f"{name}: cannot be read ({reason}); check that it is there and readable") from None
    if not regular:
        raise RecallError(f"{name}: is not a file; give the file of the set")
    if size > MAX_BYTES:
        raise RecallError(f"{name}: larger than {MAX_BYTES >> 20} MB; import it in parts")


def _merged(value: Any, name: str) -> Any:
    """Return values with merge keys, `<<: *base`, put into their mappings. Raises RecallError for others."""
    if isinstance(value, list):
        return [_merged(inner, name) for inner in value]
    if not isinstance(value, Mapping):
        return value
    made = {key: _merged(inner, name) for key, inner in value.items()}
    if "<<" not in made:
        return made
    bases = made.pop("<<")
    bases = bases if isinstance(bases, list) else [bases]
    if not all(isinstance(base, Mapping) for base in bases):
        raise RecallError(f"{name}: `<<` merges mappings, and this one is none; write `<<: *name`")
    # What is written out comes before what is merged, and an earlier base before a later one.
    for base in bases:
        for key, inner in base.items():
            made.setdefault(key, inner)
    return made


def _json(text: str, name: str) -> Document:
    try:
        value = strict_json(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        shown = getattr(error, "msg", None) or ("nested too deep" if isinstance(error, RecursionError) else str(error))
        raise RecallError(f"{name}:{line or 1}: not JSON ({one_line(shown, 80)}); correct it") from None
    return Document(name=name, value=value, lines=_json_positions(text, name))


def _json_positions(text: str, name: str) -> dict[Keys, int]:
    """Return the lines of the outer values of valid JSON, by their paths. Raises RecallError if nested too deep."""
    lines: dict[Keys, int] = {(): 1}
    path: list[str | int] = []
    line, key = 1, ""
    awaits_key = False
    for token in _TOKEN.finditer(text):
        found = token[0]
        if found == "\n":
            line += 1
            continue
        if found in ":":
            continue
        if found in "]}":
            path.pop()
            awaits_key = False
            continue
        if found == ",":
            awaits_key = isinstance(path[-1], str)
            if not awaits_key:
                path[-1] = int(path[-1]) + 1
            continue
        if awaits_key:
            key, awaits_key = found, False
            path[-1] = strict_json(key)
            continue
        if len(path) <= _LINES_DEPTH:
            lines.setdefault(tuple(path), line)
        if found in "[{":
            if len(path) >= MAX_DEPTH:
                raise RecallError(f"{name}:{line}: nested more than {MAX_DEPTH} deep; flatten it")
            path.append("" if found == "{" else 0)
            awaits_key = found == "{"
    return lines


def _json_lines(text: str, name: str) -> Document:
    rows: list[dict[str, Any]] = []
    lines: dict[Keys, int] = {(): 1}
    problems: list[str] = []
    for line, value, problem in objects(text):
        if problem:
            problems.append(f"{name}:{line}: {problem}")
            continue
        lines[(len(rows),)] = line
        rows.append(value)
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    return Document(name=name, value=rows, lines=lines)


def with_columns(document: Document, names: Mapping[str, str]) -> Document:
    """Return rows of which the columns have other names, as `names` says: the name that is known by the row's own.

    Raises RecallError for a document that is no list of rows, and for a column that no row has, or that is there twice.
    """
    if not names:
        return document
    rows = document.value if isinstance(document.value, list) else []
    columns = dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row)
    if not columns:
        raise RecallError(f"--map: {document.name} is no table and no list of rows, whose columns it could name")
    for known, own in names.items():
        if own not in columns:
            raise RecallError(
                f"--map {known}={own}: no row of {document.name} has `{own}`{nearest(own, map(str, columns))}"
            )
        if known in columns and known not in names.values():
            raise RecallError(f"--map {known}={own}: rows of {document.name} have `{known}` as well; map that too")
    by_own = {own: known for known, own in names.items()}
    mapped = [
        {by_own.get(key, key): value for key, value in row.items()} if isinstance(row, Mapping) else row for row in rows
    ]
    return replace(document, value=mapped)


def _csv(text: str, name: str, delimiter: str) -> Document:
    if "\0" in text:
        raise RecallError(f"{name}: holds a zero byte; save it as text")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    rows: list[dict[str, str]] = []
    lines: dict[Keys, int] = {(): 1}
    header: list[str] = []
    start = 1
    try:
        for cells in reader:
            here, start = start, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = cells
                if len(cells) == 1 and (other := next((one for one in _DELIMITERS if one in cells[0]), None)):
                    raise RecallError(
                        f"{name}:{here}: has one column, `{one_line(cells[0], 60)}`; if `{other}` parts its cells, add"
                        f" --delimiter {_NAMES.get(other, repr(other))}"
                    )
                if twice := next((cell for cell in header if header.count(cell) > 1), None):
                    raise RecallError(f"{name}:{here}: the column `{one_line(twice, 40)}` is there twice; rename one")
                continue
            if len(cells) != len(header):
                cells_are = f"has {len(cells)} cells, and the header has {len(header)}"
                raise RecallError(f"{name}:{here}: {cells_are}; put cells with commas or line ends in quotes")
            lines[(len(rows),)] = here
            rows.append(dict(zip(header, cells, strict=True)))
    except csv.Error as error:
        raise RecallError(f"{name}:{reader.line_num}: not CSV ({error}); correct it") from None
    return Document(name=name, value=rows, lines=lines)
