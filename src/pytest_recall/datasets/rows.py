"""Rows: the elements of a JSON array or the lines of a JSON Lines file, one at a time and within limits.

A file of gigabytes is read in the memory of its largest row. The parser, ijson, has no limits of
its own, so that its events are counted while a row is put together.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from pytest_recall.core.errors import RecallError, one_line

MAX_ROW_BYTES = 64 * 1024 * 1024
"""The longest row; those of the largest published file have about 6 MB."""
MAX_VALUES = 1_000_000
"""The most values in a row, which bounds the memory that short ones take."""
MAX_DEPTH = 32
MAX_TEXT = 4 * 1024 * 1024
"""The longest text in a row, in characters."""
_CHUNK = 64 * 1024
_BOM = b"\xef\xbb\xbf"


def rows(path: Path, name: str, *, lines: bool) -> Iterator[tuple[int, Any]]:
    """Yield each row with its number from 1; messages call the file `name`.

    With `lines` a row is a line of the file, blank ones left out but counted; else it is an
    element of the array that the file is. Raises RecallError at the first row that cannot be
    read, and for a file that cannot be.
    """
    with opened(path, name) as file:
        if file.read(len(_BOM)) != _BOM:
            file.seek(0)
        yield from _lines(file, name) if lines else _elements(file, name)


def whole(path: Path, name: str) -> Any:
    """Return the one value that the file is. Raises RecallError for none, several, or a longer one than a row."""
    with opened(path, name) as file:
        (value,) = _values(_Meter(file, name, 1))
    return value


@contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """Open a file that is read as bytes. Raises RecallError if it cannot be opened or read on."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise RecallError(f"{name}: cannot be read ({error.strerror}); check that it is there and readable") from None


def _lines(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    number = 0
    while line := file.readline(MAX_ROW_BYTES + 1):
        number += 1
        if len(line) > MAX_ROW_BYTES:
            raise _too_long(name, number)
        if line.strip():
            (value,) = _values(_Meter(io.BytesIO(line), name, number))
            yield number, value


def _elements(file: BinaryIO, name: str) -> Iterator[tuple[int, Any]]:
    meter = _Meter(file, name, 1)
    for value in _values(meter, elements=True):
        yield meter.row, value
        meter.next()


class _Meter:
    """A file that refuses to be read on when a row has had its share of bytes, up to a chunk."""

    def __init__(self, file: BinaryIO, name: str, row: int) -> None:
        self.name = name
        self.row = row
        self._file = file
        self._read = 0

    def next(self) -> None:
        """Begin the next row."""
        self.row += 1
        self._read = 0

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises RecallError."""
        data = self._file.read(size)
        self._read += len(data)
        if self._read > MAX_ROW_BYTES + _CHUNK:
            raise _too_long(self.name, self.row)
        return data

    def error(self, what: str) -> RecallError:
        """Return the error that names this row."""
        return RecallError(f"{self.name}: row {self.row}: {what}")


def _too_long(name: str, row: int) -> RecallError:
    return RecallError(f"{name}: row {row}: is longer than {MAX_ROW_BYTES >> 20} MB; no row of these datasets is")


def _values(source: _Meter, *, elements: bool = False) -> Iterator[Any]:
    """Yield the value in the source, or the elements of the array that it is. Raises RecallError."""
    try:
        import ijson
    except ModuleNotFoundError:
        raise RecallError(
            "datasets are read with ijson; install it with `pip install 'pytest-recall[datasets]'`"
        ) from None
    events = iter(ijson.basic_parse(source, use_float=True, buf_size=_CHUNK))
    try:
        if elements:
            event, value = next(events)
            if event != "start_array":
                raise RecallError(f"{source.name}: expected an array of rows, found {_called(event, value)}")
        builder = _Builder(source)
        for event, value in events:
            if elements and event == "end_array" and not builder.stack:
                continue
            builder.take(event, value)
            if not builder.stack:
                yield builder.done
                builder = _Builder(source)
    except (ijson.JSONError, ValueError, RecursionError, StopIteration) as error:
        told = one_line(str(error).splitlines()[0] if str(error) else "it is empty", 100).removeprefix("b'")
        raise source.error(f"is no JSON ({told}); the file may be cut off or damaged") from None


def _called(event: str, value: Any) -> str:
    names = {"start_map": "an object", "start_array": "an array", "string": "text", "null": "null"}
    return names.get(event, repr(value))


class _Builder:
    """Puts the value of a row together from a parser's events."""

    def __init__(self, source: _Meter) -> None:
        self.stack: list[dict[str, Any] | list[Any]] = []
        self.done: Any = None
        self._keys: list[str] = []
        self._count = 0
        self._source = source

    def take(self, event: str, value: Any) -> None:
        """Take in an event. Raises RecallError for what is beyond the limits, or a key that is written twice."""
        if event == "map_key":
            if value in self.stack[-1]:
                raise self._source.error(f"`{one_line(value, 60)}` is written twice; remove one")
            self._keys[-1] = value
        elif event in ("end_map", "end_array"):
            self.stack.pop()
            self._keys.pop()
        elif event == "start_map":
            self._open({})
        elif event == "start_array":
            self._open([])
        else:
            if event == "string" and len(value) > MAX_TEXT:
                raise self._source.error(f"has a text of more than {MAX_TEXT >> 20} million characters; shorten it")
            self._put(value)

    def _open(self, value: dict[str, Any] | list[Any]) -> None:
        self._put(value)
        if len(self.stack) == MAX_DEPTH:
            raise self._source.error(f"is nested more than {MAX_DEPTH} deep; no row of these datasets is")
        self.stack.append(value)
        self._keys.append("")

    def _put(self, value: Any) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise self._source.error(f"has more than {MAX_VALUES:,} values; no row of these datasets has")
        if not self.stack:
            self.done = value
        elif isinstance(top := self.stack[-1], list):
            top.append(value)
        else:
            top[self._keys[-1]] = value
