"""Read a file row by row within limits, and take fields as the types that they have to be.

A file of gigabytes is read in the memory of its largest row. The parser, ijson, has no limits of
its own, so that its events are counted while a row is put together.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pytest_recall.cases.case import ID_PATTERN
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line

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
            # By the same parser as an array, and not by `json`, so that the same limits hold.
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
        # The parser asks for whole chunks, so that up to one of them may belong to the next row.
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


class DatasetRow:
    """A row of a file: where it is, which messages begin with."""

    def __init__(self, file: str, number: int) -> None:
        self.file = file
        self.number = number
        self.id = ""

    @property
    def place(self) -> str:
        """Where the row is within its file, such as `row 17 (conv-30)`."""
        return f"row {self.number} ({self.id})" if self.id else f"row {self.number}"

    def refuse(self, field: str, expected: str, found: Any) -> NoReturn:
        """Raise the RecallError that says what was expected."""
        where = f"{field}: " if field else ""
        raise RecallError(f"{self.file}: {self.place}: {where}expected {expected}, found {called(found)}")

    def mapping(self, value: Any, field: str = "", expected: str = "an object") -> Mapping[str, Any]:
        """Return `value` if it is an object. Raises RecallError."""
        if not isinstance(value, dict):
            self.refuse(field, expected, value)
        return value

    def items(self, value: Any, field: str, expected: str = "a list", *, some: bool = False) -> list[Any]:
        """Return `value` if it is a list, and with `some` one that is not empty. Raises RecallError."""
        if not isinstance(value, list) or (some and not value):
            self.refuse(field, expected, value)
        return value

    def text(self, value: Any, field: str, *, some: bool = True) -> str:
        """Return `value` if it is text, and with `some` not blank. Raises RecallError."""
        if not isinstance(value, str) or (some and not value.strip()):
            self.refuse(field, "text", value)
        return value

    def name(self, value: Any, field: str) -> str:
        """Return `value` if it can be part of a case's id. Raises RecallError."""
        text = self.text(value, field)
        if len(text) > 100 or not re.fullmatch(ID_PATTERN, text):
            self.refuse(field, "an id of at most 100 letters, digits and `.-_/+@=:`", value)
        return text

    def answer(self, value: Any, field: str) -> str | None:
        """Return an answer as text, also one that is a number; None for none. Raises RecallError."""
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            self.refuse(field, "text or a number", value)
        return str(value).strip() or None


def called(value: Any) -> str:
    """Return what a value is, in words: its type, or the value itself if it is short and plain."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "an object" if value else "an empty object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, str):
        return f"the text {one_line(value, 40)!r}" if value.strip() else "an empty text"
    return f"the number {one_line(repr(value), 40)}" if not isinstance(value, bool) else str(value).lower()


def unique(id: str, taken: set[str]) -> str:
    """Return `id`, or if it is taken `id#2` and so on, and take it."""
    free, count = id, 1
    while free in taken:
        count += 1
        free = f"{id}#{count}"
    taken.add(free)
    return free


MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_LOCOMO = re.compile(r"(\d{1,2}):(\d\d) ?([ap])m on (\d{1,2}) ([a-z]+),? (\d{4})", re.IGNORECASE | re.ASCII)
_LONGMEMEVAL = re.compile(r"(\d{4})/(\d\d?)/(\d\d?)(?: \(\w+\))?(?: (\d\d?):(\d\d))?", re.ASCII)


def locomo_date(written: str) -> datetime | None:
    """Return the date in a text such as `1:56 pm on 8 May, 2023`, None if it is none."""
    found = _LOCOMO.fullmatch(written.strip())
    if found is None or found[5].lower() not in MONTHS or not 1 <= int(found[1]) <= 12:
        return None
    hour = int(found[1]) % 12 + (12 if found[3].lower() == "p" else 0)
    return _date(int(found[6]), MONTHS.index(found[5].lower()) + 1, int(found[4]), hour, int(found[2]))


def longmemeval_date(written: str) -> datetime | None:
    """Return the date in a text such as `2023/05/30 (Tue) 21:56`, None if it is none."""
    found = _LONGMEMEVAL.fullmatch(written.strip())
    return None if found is None else _date(*(int(part or 0) for part in found.groups()))


def _date(year: int, month: int, day: int, hour: int, minute: int) -> datetime | None:
    try:
        return datetime(year, month, day, hour, minute)  # The datasets name no time zone.
    except ValueError:
        return None
