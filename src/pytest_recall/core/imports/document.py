"""Document: a file of another tool as plain values, each with its place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Document:
    """What a file holds; `lines` has the line of values by their path, at least of the outer ones."""

    name: str
    value: Any
    lines: Mapping[Path, int]

    @property
    def root(self) -> Node:
        """Its outermost value."""
        return Node(self.value, self, ())

    def place(self, path: Path) -> str:
        """Return `file:line` of a value, or of the nearest one around it whose line is known."""
        above = (path[:depth] for depth in range(len(path), -1, -1))
        return f"{self.name}:{next((self.lines[one] for one in above if one in self.lines), 1)}"


@dataclass(frozen=True)
class Node:
    """A value and where it stands."""

    value: Any
    document: Document
    path: Path

    @property
    def place(self) -> str:
        """`file:line`."""
        return self.document.place(self.path)

    def get(self, key: str) -> Node | None:
        """Return what a mapping has under a key, unless it is null."""
        if not isinstance(self.value, Mapping) or self.value.get(key) is None:
            return None
        return Node(self.value[key], self.document, (*self.path, key))

    def text(self, key: str) -> str:
        """Return the text under a key; nothing if it is none."""
        found = self.value.get(key) if isinstance(self.value, Mapping) else None
        return found if isinstance(found, str) else ""

    def each(self) -> Iterator[Node]:
        """Yield the values of a list."""
        if isinstance(self.value, list):
            for index, value in enumerate(self.value):
                yield Node(value, self.document, (*self.path, index))

    def items(self) -> Iterator[tuple[str, Node]]:
        """Yield keys and values of a mapping, without those that are null."""
        if isinstance(self.value, Mapping):
            for key, value in self.value.items():
                if value is not None:
                    yield str(key), Node(value, self.document, (*self.path, key))


def parsed(text: str) -> Any:
    """Return what a text is as JSON; if it is none, the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
