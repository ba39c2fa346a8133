"""Read the numbers in a text by one notation, and guess none.

A number is a row of decimal digits, of any script, in which

- the decimal mark stands once, before one digit or more; it may come first, as in `.5`;
- the other one of comma and point groups thousands: one to three digits, not 0, come before the first of these marks,
  and exactly three after each. So do a no-break, a narrow and a thin space, and an apostrophe;
- a sign counts where it touches the number, or a currency that stands before the number, and is no hyphen: no letter,
  digit, closing bracket, `%` or other sign stands before it. `-$5`, `–5` and `US$-5` are negative, `3–5` is 3 and 5,
  and `- 5` is an item of a list;
- an exponent is `e5`, `E-5`, `×10^5`, `x10**5` or `×10⁵`.

What looks like a number and is none of these cannot be read: `12,5` and `1.000.000` where the point is the decimal
mark, `1.2.3`, `10 000` with a plain space, `5½`, `2^10`, `0x1F`. Where commas group, one before four digits or more
stands between two numbers: `3,2024`. Units and words are not looked at: `5 %`, `$5k` and `5 million` are 5, and `five`
is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Literal, NamedTuple

DecimalMark = Literal[".", ","]
MAX_DIGITS = 300
"""A row of more digits cannot be read, nor one with a larger exponent."""

SIGNS = "-−–‐‑﹣－"
CURRENCIES = "$¢-¥֏؋߾߿৲৳৻૱௹฿៛₠-⃀꠸﷼﹩＄￠￡￥￦"
"""The currency signs of the Basic Multilingual Plane (category Sc), as in a set of a pattern."""
_GROUPS = "\u00a0\u202f\u2009'’٬"
"""What groups thousands in each notation: spaces that do not break, apostrophes, and the mark of Arabic."""
_DECIMAL = "٫"
"""The decimal mark of Arabic, in each notation."""
_ABBREVIATED = "[Kk]r|Kč|zł|Ft|[Ff]r|Rs|Rp|RM|[Ll]ei|лв|руб"
"""Currencies by letters that are no code of ISO 4217, as the locales of CLDR write them."""
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")

_AROUND = 20
"""Characters that are shown on each side of a number that cannot be read."""
_POWER = re.compile(r"\^|\*\*")
_LISTED = re.compile(r",(?=\d{4})")
_MINUS = re.compile(rf"[{SIGNS}]")


@cache
def _number() -> re.Pattern[str]:
    """Return what a number looks like. It is compiled when one is looked for, which in most runs is never."""
    return re.compile(
        rf"""
    (?P<sign> (?<![{SIGNS}\w)\]%°]) (?<!\d[{CURRENCIES}]) (?<!\d\s[{CURRENCIES}]) [{SIGNS}]
      (?: (?: [A-Za-z]{{0,3}} [{CURRENCIES}] | [A-Z]{{3}} | (?:{_ABBREVIATED}) \.? ) \s? )? )?
    (?: (?P<other_base> 0[xXbBoO] [0-9A-Fa-f]+ \b )
      | (?P<spaced> [1-9]\d{{0,2}} (?:[ ]\d{{3}})+ (?!\d) )
      | (?P<row> (?: (?<![\w.,]) [.,{_DECIMAL}] )? \d+ (?: [.,{_DECIMAL}{_GROUPS}] \d+ )* ) )
    (?: [eE] (?P<power> [{SIGNS}+]?\d+ ) (?!\w)
      | \s? [×x*·] \s? 10 (?: (?: \^ | \*\* ) (?P<raised> [{SIGNS}+]?\d+ ) | (?P<above> [⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+ ) ) )?
    """,
        re.VERBOSE,
    )


def other_mark(decimal: DecimalMark) -> DecimalMark:
    """Return the mark that groups thousands where this one stands before decimals."""
    return "," if decimal == "." else "."


class WrittenNumber(NamedTuple):
    """A number as it is written, and its exact value; None if it cannot be read."""

    text: str
    value: Decimal | None


def written_numbers(text: str, decimal: DecimalMark = ".") -> list[WrittenNumber]:
    """Return what looks like a number in `text`, in its order, read with this decimal mark."""
    return [number for match in _number().finditer(text) for number in _read(text, match, decimal)]


def _read(text: str, match: re.Match[str], decimal: DecimalMark) -> Iterator[WrittenNumber]:
    """Yield the number that a match is, or the numbers where marks stand between several."""
    if match["row"] is None:
        yield WrittenNumber(match[0], None)
        return
    if _is_part_of_more(text, match):
        yield WrittenNumber(_word(text, match), None)
        return
    group = other_mark(decimal)
    rows = _LISTED.split(match["row"]) if group == "," else [match["row"]]
    power = match["power"] or match["raised"] or (match["above"] or "").translate(_SUPERSCRIPTS)
    begin = match.start("row")
    for number, row in enumerate(rows, 1):
        first, last = number == 1, number == len(rows)
        value = _value(row, decimal, group, power if last else "")
        written = text[match.start() if first else begin : match.end() if last else begin + len(row)]
        yield WrittenNumber(written, -value if value is not None and first and match["sign"] else value)
        begin += len(row) + 1


def _word(text: str, match: re.Match[str]) -> str:
    """Return what a match is a part of, up to the blanks around it, if that is not long."""
    head = re.search(r"\S*\Z", text[: match.start()][-_AROUND:])
    tail = re.match(r"\S*", text[match.end() :][:_AROUND])
    return f"{head[0] if head else ''}{match[0]}{tail[0] if tail else ''}"


def _is_part_of_more(text: str, match: re.Match[str]) -> bool:
    """Whether a fraction, a superscript or a power stands beside what looks like a number, which is then another."""
    before, after = text[: match.start()][-2:], text[match.end() : match.end() + 2]
    return (
        unicodedata.category(before[-1:] or " ") in ("No", "Nl")
        or unicodedata.category(after[:1] or " ") in ("No", "Nl")
        or before.endswith(("^", "**"))
        or _POWER.match(after) is not None
    )


def _value(row: str, decimal: str, group: str, power: str) -> Decimal | None:
    """Return the value of digits and marks, or None for what the notation does not write."""
    whole, mark, part = row.replace(_DECIMAL, decimal).partition(decimal)
    digits = _ungrouped(whole, group)
    exponent = int(_MINUS.sub("-", power) or 0)
    if digits is None or (mark and not part.isdecimal()):
        return None
    if len(digits) + len(part) > MAX_DIGITS or abs(exponent) > MAX_DIGITS:
        return None
    return Decimal(f"{digits or 0}{'.' if part else ''}{part}e{exponent}")


def _ungrouped(whole: str, group: str) -> str | None:
    """Return the digits of a whole part, or None where its marks do not group thousands."""
    first, *thousands = re.split(r"\D", whole)
    if not thousands:
        return first
    marks = {character for character in whole if not character.isdecimal()}
    groups = len(marks) == 1 and marks <= {group, *_GROUPS}
    if not groups or len(first) > 3 or not first or not int(first[0]) or any(len(one) != 3 for one in thousands):
        return None
    return first + "".join(thousands)
