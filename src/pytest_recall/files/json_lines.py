"""Read, write and append JSON Lines, one object on each line, with bounds."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pytest_recall.files.disk import check_link, check_pulled, exists, make_folder, naming, open_file, read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.strict_json import strict_json
from pytest_recall.files.wording import one_line


def objects(text: str) -> Iterator[tuple[int, dict[str, Any], str]]:
    """Yield each line that is not blank: its number from 1, its object, and what is wrong with it if it has none."""
    for line, written in enumerate(text.split("\n"), start=1):
        if not written.strip():
            continue
        try:
            value = strict_json(written)
        except (ValueError, RecursionError) as error:
            yield line, {}, f"not JSON ({error}); write one object per line"
            continue
        if isinstance(value, dict):
            yield line, value, ""
        else:
            yield line, {}, "is not an object; write one per line, in braces"


def line_problem(error: Exception) -> str:
    """Return in words why a line of a file of ours could not be read."""
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON from character {error.colno} on"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    return one_line(str(error)) or "nested too deep"


class Appended:
    """A file that objects are appended to, each through to the operating system; a context manager."""

    def __init__(self, path: Path) -> None:
        check_link(path.parent, path)
        make_folder(path.parent)
        self._path = path
        self._file = open_file(path, "ab+", buffering=0)
        end = self._file.seek(0, os.SEEK_END)
        if end:
            self._file.seek(end - 1)
            # A line that a killed process began is ended first, so that it takes no other with it.
            if self._file.read(1) != b"\n":
                self._file.write(b"\n")

    def append(self, value: Mapping[str, Any]) -> None:
        """Append an object. Raises OSError."""
        with naming(self._path):
            self._file.write(json.dumps(value).encode("ascii") + b"\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def appended(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the value of each whole line of a file that was appended to, with its number; none if it is not there.

    A line that a killed run began is passed over. Raises RecallError if the file cannot be read.
    """
    try:
        with open_file(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                if number == 1:
                    check_pulled(line, os.fspath(path))
                if line.endswith(b"\n") and line.strip():
                    try:
                        yield number, json.loads(line)
                    except (ValueError, RecursionError):
                        continue  # It was cut off, and the next run ended it.
    except FileNotFoundError:
        return
    except OSError as error:
        raise RecallError(f"{path}: cannot be read ({error.strerror}); check that it is readable") from None


def read_appended(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file that was appended to, without lines that were cut off. Raises RecallError."""
    if not exists(path):
        return []
    return [value for _, value, problem in objects(read_text(path, os.fspath(path))) if not problem]


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return objects as the text of a file that people read: one on each line, letters as they are."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
