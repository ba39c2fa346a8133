"""Parts of a report: each is one value, with facts for JSON and the same for people, and one function renders it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from pytest_recall.files.wording import cell, grid, markdown_grid, one_line, printable, prose


class TextTable(NamedTuple):
    """A table whose rows have a cell for each name in `head`."""

    name: str
    """Empty where its section says enough."""
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    """How many of the first columns are texts; all others are numbers."""

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> TextTable:
        """Return the table that a section has as plain JSON types. Raises KeyError, TypeError or ValueError."""
        head = _texts("head", plain["head"])
        rows = tuple(_texts("a row", row) for row in _listed("rows", plain["rows"]))
        if not head or any(len(row) != len(head) for row in rows):
            raise ValueError("its rows have not a cell for each name in `head`")
        return cls(one_line(str(plain["name"])), head, rows, int(plain["texts"]))


class Section(NamedTuple):
    """What is known of one thing. A section without lines, tables and notes is not shown."""

    title: str
    tables: Sequence[TextTable] = ()
    notes: Sequence[str] = ()
    """How to read the tables, and what else is to be known, a sentence each."""
    lines: Sequence[str] = ()
    """What it says, before its tables; the first line says the most."""
    snippet: Sequence[str] = ()
    """Lines to copy into a file."""
    key: str = ""
    """The field of JSON that has the facts; empty where they are fields themselves, or there are none."""
    facts: Any = None
    """The same as plain JSON types; None where nothing is known."""
    brief: bool = False
    """Whether a terminal shows the first line alone, unless more is asked for."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {**self._asdict(), "tables": [table._asdict() for table in self.tables]}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Section:
        """Return the section that `to_json` gave, each text in one line. Raises KeyError, TypeError or ValueError."""
        if not isinstance(plain["title"], str) or not isinstance(plain["key"], str):
            raise TypeError("its `title` or its `key` is no text")
        return cls(
            one_line(plain["title"]),
            tuple(map(TextTable.from_json, _listed("tables", plain["tables"]))),
            _texts("notes", plain["notes"]),
            _texts("lines", plain["lines"]),
            _texts("snippet", plain["snippet"], printable),
            plain["key"],
            plain["facts"],
            bool(plain["brief"]),
        )

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.tables or self.notes or self.lines or self.snippet)


def _listed(what: str, values: Any) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence):
        raise TypeError(f"`{what}` is {type(values).__name__}, and no list")
    return values


def _texts(what: str, values: Any, clean: Callable[[str], str] = one_line) -> tuple[str, ...]:
    texts = tuple(_listed(what, values))
    for one in texts:
        if not isinstance(one, str):
            raise TypeError(f"`{what}` has {type(one).__name__}, and no text")
    return tuple(map(clean, texts))


class Report(NamedTuple):
    """What a command has found."""

    headline: str
    """What is shown, in a few words."""
    sections: Sequence[Section]
    facts: Any
    """The same as plain JSON types."""


def fields(sections: Iterable[Section]) -> dict[str, Any]:
    """Return the facts of sections as fields of JSON."""
    plain: dict[str, Any] = {}
    for section in sections:
        plain |= {section.key: section.facts} if section.key else section.facts or {}
    return plain


def report_lines(sections: Iterable[Section]) -> Iterator[str]:
    """Yield sections for a terminal; they are apart by empty lines, and so are the blocks of each."""
    for number, section in enumerate(one for one in sections if one.is_shown):
        if number:
            yield ""
        if section.title:
            yield f"{section.title}:"
        yield from _apart(_blocks(section))


def report_markdown(report: Report) -> str:
    """Return a report as a Markdown page."""
    lines = [f"# {prose(report.headline)}", ""]
    for section in report.sections:
        if section.is_shown:
            title = [f"## {cell(section.title[:1].upper() + section.title[1:])}", ""] if section.title else []
            lines += [*title, *markdown_body(section), ""]
    return "\n".join(lines)


def terminal_body(section: Section, *, brief: bool = False) -> Iterator[str]:
    """Yield a section without its title and without empty lines, for a terminal.

    In a `brief` report a brief section has its first line alone.
    """
    if brief and section.brief:
        yield from section.lines[:1]
    else:
        yield from chain.from_iterable(_blocks(section))


def _blocks(section: Section) -> list[Sequence[str]]:
    return [section.lines, *map(_titled, section.tables), [*section.notes, *section.snippet]]


def _titled(table: TextTable) -> list[str]:
    return [*([table.name] if table.name else ()), *grid(table.head, table.rows, table.texts)]


def markdown_body(section: Section) -> Iterator[str]:
    """Yield a section without its title as Markdown; its blocks are apart by empty lines."""
    tables = map(_markdown_table, section.tables)
    yield from _apart([_items(section.lines), *tables, _items(section.notes), _fenced(section)])


def _apart(blocks: Iterable[Sequence[str]]) -> Iterator[str]:
    for number, block in enumerate(filter(None, blocks)):
        yield from block if number == 0 else ("", *block)


def _items(lines: Iterable[str]) -> list[str]:
    return [f"- {prose(line.strip())}" for line in lines]


def _markdown_table(table: TextTable) -> list[str]:
    name = [f"{cell(table.name)}:", ""] if table.name else []
    return [*name, *markdown_grid(table.head, table.rows, table.texts)]


def _fenced(section: Section) -> list[str]:
    return ["```text", *(line.replace("`", "'") for line in section.snippet), "```"] if section.snippet else []
