"""Needles: judges that look for texts in an answer to the letter, as other tools do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_recall.core.imports.carry import Judge

_SPECIAL = frozenset(r"\.^$*+?{}[]|()")
ANYTHING = r"[\s\S]*"


def present(needles: Sequence[str], *, every: bool, ignore_case: bool) -> list[Judge]:
    """Return judges that pass if the answer holds every needle, or one of them.

    `contains` collapses white space, which makes a difference only for needles that have some; those are looked for
    by an expression that is found nowhere else.
    """
    plain = [needle for needle in needles if not _spaced(needle)]
    spaced = [needle for needle in needles if _spaced(needle)]
    if not every and spaced:
        return [expression("|".join(map(escaped, needles)), ignore_case=ignore_case)]
    judges: list[Judge] = []
    if plain:
        arguments: dict[str, Any] = {"expected": plain if len(plain) > 1 else plain[0]}
        arguments |= {"any": True} if len(plain) > 1 and not every else {}
        arguments |= {} if ignore_case else {"ignore_case": False}
        judges.append({"contains": arguments["expected"] if len(arguments) == 1 else arguments})
    return judges + [expression(escaped(needle), ignore_case=ignore_case) for needle in spaced]


def absent(needles: Sequence[str], *, every: bool, ignore_case: bool) -> list[Judge]:
    """Return judges that pass unless the answer holds every needle, or one of them."""
    if every and len(needles) > 1:
        looks = "".join(f"(?={ANYTHING}{escaped(needle)})" for needle in needles)
        return [expression(rf"\A(?!{looks})", ignore_case=ignore_case)]
    if any(_spaced(needle) for needle in needles):
        return [expression(unlike(ANYTHING + group(needles)), ignore_case=ignore_case)]
    arguments: dict[str, Any] = {"absent": list(needles) if len(needles) > 1 else needles[0]}
    return [{"contains": arguments | ({} if ignore_case else {"ignore_case": False})}]


def expression(pattern: str, *, ignore_case: bool = False) -> Judge:
    """Return the judge that looks for a regular expression."""
    return {"regex": {"expected": pattern, "ignore_case": True} if ignore_case else pattern}


def unlike(pattern: str) -> str:
    """Return the expression that is found in an answer that does not begin with `pattern`."""
    return rf"\A(?!{pattern})"


def group(needles: Sequence[str]) -> str:
    """Return the expression for one of some texts."""
    return escaped(needles[0]) if len(needles) == 1 else f"(?:{'|'.join(map(escaped, needles))})"


def escaped(text: str) -> str:
    """Return the expression for a text; blanks stay readable, as `re.escape` does not leave them."""
    return "".join(f"\\{c}" if c in _SPECIAL else c for c in text)


def _spaced(needle: str) -> bool:
    return any(c.isspace() for c in needle)
