"""Parts of a report: each is one value, with facts for JSON and the same for people, and one function renders it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.wording import cell, grid, markdown_grid, prose


class TextTable(NamedTuple):
    """A table whose rows have a cell for each name in `head`."""

    name: str
    """Empty where its section says enough."""
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int = 1
    """How many of the first columns are texts; all others are numbers."""


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
    """The field of JSON that has the facts; empty for a section without any."""
    facts: Any = None
    """The same as plain JSON types; None where nothing is known."""
    brief: bool = False
    """Whether a terminal shows the first line alone, unless more is asked for."""

    @property
    def is_shown(self) -> bool:
        """Whether there is anything to show."""
        return bool(self.tables or self.notes or self.lines or self.snippet)


class Report(NamedTuple):
    """What a command has found."""

    headline: str
    """What is shown, in a few words."""
    sections: Sequence[Section]
    facts: Any
    """The same as plain JSON types."""


def report_lines(report: Report) -> Iterator[str]:
    """Yield the sections of a report for a terminal, with an empty line between them."""
    for number, section in enumerate(one for one in report.sections if one.is_shown):
        if number:
            yield ""
        if section.title:
            yield f"{section.title}:"
        yield from terminal_body(section)


def report_markdown(report: Report) -> str:
    """Return a report as a Markdown page."""
    lines = [f"# {prose(report.headline)}", ""]
    for section in report.sections:
        if section.is_shown:
            title = [f"## {cell(section.title[:1].upper() + section.title[1:])}", ""] if section.title else []
            lines += [*title, *markdown_body(section), ""]
    return "\n".join(lines)


def section_lines(section: Section) -> Iterator[str]:
    """Yield a section with its title, for a terminal."""
    yield section.title
    if section.lines:
        yield from ("", *section.lines)
    for table in section.tables:
        yield from ("", *_titled(table))
    if section.notes or section.snippet:
        yield from ("", *section.notes, *section.snippet)


def terminal_body(section: Section, *, brief: bool = False) -> Iterator[str]:
    """Yield a section without its title and without empty lines, for a terminal.

    In a `brief` report a brief section has its first line alone.
    """
    if brief and section.brief:
        yield from section.lines[:1]
        return
    yield from section.lines
    for table in section.tables:
        yield from _titled(table)
    yield from section.notes
    yield from section.snippet


def _titled(table: TextTable) -> Iterator[str]:
    if table.name:
        yield table.name
    yield from grid(table.head, table.rows, table.texts)


def markdown_body(section: Section) -> Iterator[str]:
    """Yield a section without its title as Markdown; its blocks are apart by empty lines."""
    blocks = [_items(section.lines), *map(_markdown_table, section.tables), _items(section.notes), _fenced(section)]
    for number, block in enumerate(filter(None, blocks)):
        yield from block if number == 0 else ("", *block)


def _items(lines: Iterable[str]) -> list[str]:
    return [f"- {prose(line.strip())}" for line in lines]


def _markdown_table(table: TextTable) -> list[str]:
    name = [f"{cell(table.name)}:", ""] if table.name else []
    return [*name, *markdown_grid(table.head, table.rows, table.texts)]


def _fenced(section: Section) -> list[str]:
    return ["```text", *(line.replace("`", "'") for line in section.snippet), "```"] if section.snippet else []
