"""Question file: `questions.yaml` row by row, as it is written, so that it can be looked through and added to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_recall.core.errors import RecallError
from pytest_recall.core.horizon.question import BenchQuestion
from pytest_recall.store import strictyaml, yamltext
from pytest_recall.store.files import read_text, write_text
from pytest_recall.store.written import explain

MARGIN = "- "


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the file as it is written, from `line` on; `problems` say why it is no question, if it is none."""

    line: int
    raw: Mapping[str, Any]
    question: BenchQuestion | None
    problems: tuple[str, ...] = ()


class QuestionFile:
    """The rows of a file of questions, none if there is no file. Raises RecallError if it cannot be read as YAML.

    What is written anew is what changes: every other byte stays.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = read_text(path) if path.exists() else ""
        self._lines = strictyaml.lines(self.text, str(path)) if self.text.strip() else {}
        plain = strictyaml.load(self.text, str(path)) if self.text.strip() else None
        if not isinstance(plain, list | None):
            raise RecallError(f"{path}:1: must be a list of questions; start with `- id: …`")
        self.rows = tuple(self._row(place, raw) for place, raw in enumerate(plain or []))

    @property
    def questions(self) -> list[BenchQuestion]:
        """The rows that are questions."""
        return [row.question for row in self.rows if row.question is not None]

    def refuse_broken(self) -> None:
        """Raise RecallError if a row is no question."""
        if broken := [problem for row in self.rows for problem in row.problems]:
            raise RecallError(*broken[:20])

    def append(self, rows: Iterable[Mapping[str, Any]]) -> QuestionFile:
        """Add rows at the end, at once, and return the file as it is then. Raises OSError."""
        added = list(rows)
        if self.rows and not self._is_blocks():
            text = yamltext.block([*(row.raw for row in self.rows), *added])
        else:
            kept = self.text if self.rows else ""
            text = kept + ("" if not kept or kept.endswith("\n") else "\n") + yamltext.block(added)
        write_text(self.path, text, durable=True)
        return QuestionFile(self.path)

    def change(self, changes: Mapping[str, Mapping[str, Any]]) -> QuestionFile:
        """Give rows, by id, other values in some fields, and return the file as it is then. Raises OSError."""
        if not self._is_blocks():
            raws = [{**row.raw, **changes.get(str(row.raw.get("id")), {})} for row in self.rows]
            write_text(self.path, yamltext.block(raws), durable=True)
            return QuestionFile(self.path)
        written = self.text.splitlines(keepends=True)
        ends = [*(row.line - 1 for row in self.rows[1:]), len(written)]
        for row, end in reversed(list(zip(self.rows, ends, strict=True))):
            new = changes.get(str(row.raw.get("id")))
            if new is None:
                continue
            while written[end - 1].strip() == "" or written[end - 1].startswith("#"):
                end -= 1  # What stands between two rows belongs to neither.
            written[row.line - 1 : end] = [yamltext.block([{**row.raw, **new}])]
        write_text(self.path, "".join(written), durable=True)
        return QuestionFile(self.path)

    def line_of(self, row: Row, field: str) -> int:
        """Return the line of a field of a row, or of the row if it has none."""
        return self._lines.get((self.rows.index(row), field), row.line)

    def _is_blocks(self) -> bool:
        written = self.text.split("\n")
        return all(written[row.line - 1].startswith(MARGIN) for row in self.rows)

    def _row(self, place: int, raw: Any) -> Row:
        line = self._lines.get((place,), 1)
        if not isinstance(raw, dict):
            return Row(line, {}, None, (f"{self.path}:{line}: is no question; write its fields, the first is `id`",))
        try:
            return Row(line, raw, BenchQuestion.model_validate(raw))
        except ValidationError as error:

            def line_of(path: tuple[str | int, ...]) -> int:
                known = (self._lines.get((place, *path[:end])) for end in range(len(path), 0, -1))
                return next((found for found in known if found is not None), line)

            return Row(line, raw, None, tuple(explain(error, BenchQuestion, str(self.path), line_of)))
