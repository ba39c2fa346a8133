"""Grid: a table as lines of a terminal or of Markdown, its first column names and the others figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_recall.render.markdown import cell


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table for a terminal."""
    first, *widths = (max(map(len, column)) for column in zip(head, *rows, strict=True))
    for row in (head, *rows):
        yield f"{row[0]:<{first}}  " + "  ".join(f"{text:>{w}}" for text, w in zip(row[1:], widths, strict=True))


def markdown_grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = [f"| {' | '.join(map(cell, head))} |", "| --- |" + " ---: |" * (len(head) - 1)]
    return [*lines, *(f"| {' | '.join((cell(row[0]), *row[1:]))} |" for row in rows)]
