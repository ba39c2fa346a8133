"""Fields: what a row has, taken as the type that it has to be, with the place where it is another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

from pytest_recall.core.case import ID_PATTERN
from pytest_recall.core.errors import RecallError, one_line


class Row:
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
