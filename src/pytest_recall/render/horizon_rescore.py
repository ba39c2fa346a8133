"""Rescored runs: what a file says and the answers do not, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.core.errors import one_line
from pytest_recall.core.horizon.rescore import Rescored
from pytest_recall.render.sentences import listed, plural

SHOWN = 50


def lines(name: str, found: Rescored) -> Iterator[str]:
    """Yield a line for each number that differs, the first 50 of them, and how many were compared."""
    for one in found.differences[:SHOWN]:
        yield f"{one.place}: written {_told(one.written)}, but the answers come to {_told(one.computed)}"
    if (more := len(found.differences) - SHOWN) > 0:
        yield f"and {more:,} more"
    if found.hollow:
        yield f"no file holds the answers of {plural(len(found.hollow), 'checkpoint')}: {listed(found.hollow)}"
    same = "all are what the answers come to" if not found.differences else f"{len(found.differences):,} differ"
    yield f"{name}: {plural(found.compared, 'number')} compared, {same}"


def as_json(name: str, found: Rescored) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    return {
        "version": 1,
        "run": name,
        "compared": found.compared,
        "hollow": list(found.hollow),
        "differences": [one._asdict() for one in found.differences],
    }


def _told(value: Any) -> str:
    return "nothing" if value is None else one_line(repr(value))
