"""Conflicts: the two or three versions of a file that stand between git's markers."""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_recall.core.errors import RecallError

_MARKER = re.compile(r"(<{7}|\|{7}|={7}|>{7})(?: .*)?\n?")


class Versions(NamedTuple):
    """What a file was on each side; `base` is None where the markers do not show what both began with."""

    base: str | None
    ours: str
    theirs: str
    hunks: int


def versions(text: str, name: str) -> Versions:
    """Return the versions in a text with markers, of two sides or, in the styles diff3 and zdiff3, with the base.

    Raises RecallError for markers that do not fit together.
    """
    sides: dict[str, list[str]] = {"base": [], "ours": [], "theirs": []}
    within, begun, hunks, bases = "", 0, 0, 0
    follows = {"<": ("",), "|": ("ours",), "=": ("ours", "base"), ">": ("theirs",)}
    becomes = {"<": "ours", "|": "base", "=": "theirs", ">": ""}
    for number, line in enumerate(text.splitlines(keepends=True), start=1):
        marker = _MARKER.fullmatch(line)
        if marker is None:
            for side in (within,) if within else sides:
                sides[side].append(line)
            continue
        sign = marker[1][0]
        if within not in follows[sign]:
            raise RecallError(f"{name}:{number}: `{marker[1]}` has no place here; resolve the conflict by hand")
        within = becomes[sign]
        if sign == "<":
            begun, hunks = number, hunks + 1
        bases += sign == "|"
    if within:
        raise RecallError(f"{name}:{begun}: the conflict has no end; resolve it by hand, or take the file from git")
    base = "".join(sides["base"]) if bases == hunks else None
    return Versions(base, "".join(sides["ours"]), "".join(sides["theirs"]), hunks)
