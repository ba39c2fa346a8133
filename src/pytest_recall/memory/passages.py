"""Passages: what services and users' objects return, read strictly."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.core.errors import one_line
from pytest_recall.core.memory import MemoryFault
from pytest_recall.core.trial import Passage


def passages_of(given: Any) -> list[Passage]:
    """Return what a memory recalled as passages. Raises MemoryFault for what is no list of them."""
    if given is None or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise MemoryFault(f"recalled {_kind(given)}; return a list of texts or passages, empty if there is nothing")
    return [passage_of(one) for one in given]


def passage_of(given: Any) -> Passage:
    """Return one passage: a text, or an object or mapping with `text`. Raises MemoryFault for anything else."""
    if isinstance(given, str):
        return Passage(text=well_formed(given))
    get = given.get if isinstance(given, Mapping) else lambda name, default=None: getattr(given, name, default)
    text, source, score = get("text"), get("source"), get("score")
    if not isinstance(text, str):
        raise MemoryFault(f"recalled a passage that is {_kind(given)}; give text, or an object with a `text`")
    return Passage(
        text=well_formed(text),
        source=None if source is None else well_formed(str(source)),
        score=_number(score),
    )


def _number(score: Any) -> float | None:
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    return float(score) if abs(score) <= sys.float_info.max else None


def json_object(body: bytes) -> Mapping[str, Any]:
    """Return the JSON object that `body` is. Raises MemoryFault if it is none."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        shown = one_line(body[:400].decode("utf-8", "replace"), 80)
        raise MemoryFault(f"replied with {shown!r}, which is no JSON object; check the service")
    return found


def well_formed(text: str) -> str:
    """Return `text` as it can be written as UTF-8: a lone surrogate cannot, and becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _kind(given: Any) -> str:
    return "nothing" if given is None else f"{type(given).__name__}"
