"""Words for counts, shares and lists in messages, and tables for terminals and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import floor, log10


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` as one printable line of at most `limit` characters."""
    return cut(" ".join(printable(text).split()), limit)


def printable(text: str) -> str:
    """Return `text` with a blank for each character that steers a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


# What a key, a password or a URL that holds one is written in; a text in a language without blanks is not.
_UNBROKEN = re.compile(r"[!#$%*+\-./0-9:=?@A-Z^_a-z~]*")


def cut(text: str, limit: int) -> str:
    """Return at most `limit` characters of `text`, `…` at the end where that is not all.

    No word is cut: secrets are taken out of what is said later on, and a part of one is not recognised.
    """
    if len(text) <= limit:
        return text
    end = limit - 1
    if _UNBROKEN.fullmatch(text[end]):
        end -= len(_UNBROKEN.match(text[:end][::-1])[0])  # type: ignore[index]
    return text[:end].rstrip(" ") + (" …" if text[:end].endswith(" ") else "…")


def shown(value: object) -> str:
    """Return a value as Python writes it, in 60 characters at the most."""
    return cut(repr(value), 60)


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Return the first `limit` names, and how many there are more."""
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def some(lines: Sequence[str], most: int = 5) -> Iterator[str]:
    """Yield the first of the lines, indented, and of how many others nothing is said."""
    yield from (f"  {line}" for line in lines[:most])
    if (more := len(lines) - most) > 0:
        yield f"  … and {more:,} more"


def percent(share: float) -> str:
    """Return a share in 0..1 as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


_SMALLEST = 1e-8


def dollars(amount: float, *, estimated: bool = False) -> str:
    """Return an amount with the digits that it needs: cents from a dollar on, two figures of a small one.

    One that is `estimated`, even in part, has a `~` before it.
    """
    if estimated:
        return "~" + dollars(amount)
    if amount <= -_SMALLEST:
        return "-" + dollars(-amount)
    if amount < _SMALLEST:
        return "$0.00" if amount <= 0 else "under $0.00000001"
    places = 2 if amount >= 1 else 4 if amount >= 0.01 else 1 - floor(log10(amount))
    whole, _, cents = f"{amount:,.{places}f}".partition(".")
    return f"${whole}.{cents.rstrip('0').ljust(2, '0')}"


def budget_words(budget: float) -> str:
    """Return a budget as a noun."""
    return f"the budget of {dollars(budget)}"


def p_value(p: float) -> str:
    """Return a p-value with two figures."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def same_command(
    verb: str = "resume", count: int = 1, *, again: bool = False, first: str = "", options: str = ""
) -> str:
    """Return what the same command does when it is run once more: how users go on where one has left something.

    `verb` is what it does with `count` of these, `again` if it has tried. `first` is what users do before that, and
    `options` what they add.
    """
    does = f"{verb}s {'it' if count == 1 else 'them'}{' again' * again}"
    return f"{first and f'{first}, and '}the same command {options and f'{options} '}{does}"


def plural(count: int, noun: str) -> str:
    """Return the count with its noun."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_LONGEST = 300


def cell(text: str) -> str:
    """Return text from outside as text: no Markdown, no HTML, no mention, one table cell."""
    return _escaped(one_line(text, _LONGEST))


def prose(text: str) -> str:
    """Return a sentence of ours as Markdown, outside of a table: what stands in backticks is code, and the rest text.

    Nothing else is Markdown in it, whomever it quotes.
    """
    parts = _CODE.split(one_line(text, _LONGEST))
    return "".join(f"`{part}`" if number % 2 else _escaped(part) for number, part in enumerate(parts))


_CODE = re.compile(r"`([^`]+)`")


def _escaped(line: str) -> str:
    plain = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", plain.replace("@", "@\u200b"))


def code(text: str) -> str:
    """Return an id as code, which keeps every character but the two that would end it."""
    return "`" + one_line(text, _LONGEST).replace("`", "'").replace("|", "\\|") + "`"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Iterator[str]:
    """Yield the lines of a table for a terminal; the first `texts` columns are aligned left, all others right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    signs = ["<" if place < texts else ">" for place in range(len(widths))]
    for row in (head, *rows):
        cells = (f"{text:{sign}{width}}" for text, sign, width in zip(row, signs, widths, strict=True))
        yield "  ".join(cells).rstrip()


def markdown_grid(head: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> list[str]:
    """Return the lines of a table in Markdown; the first `texts` columns are any text, all others numbers of ours."""
    rule = "|" + " --- |" * texts + " ---: |" * (len(head) - texts)
    lines = (f"| {' | '.join((*map(cell, row[:texts]), *row[texts:]))} |" for row in rows)
    return [f"| {' | '.join(map(cell, head))} |", rule, *lines]
