"""Passages: what services and users' objects return, read strictly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pytest_recall.core.errors import one_line
from pytest_recall.core.given import passage_of as given_passage
from pytest_recall.core.memory import MemoryFault
from pytest_recall.core.trial import Passage


def passages_of(given: Any) -> list[Passage]:
    """Return what a memory recalled as passages. Raises MemoryFault for what is no list of them."""
    if given is None or isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        raise MemoryFault(f"recalled {_kind(given)}; return a list of texts or passages, empty if there is nothing")
    return [passage_of(one) for one in given]


def passage_of(given: Any) -> Passage:
    """Return one passage: a text, or an object or mapping with `text`. Raises MemoryFault for anything else."""
    passage = given_passage(given)
    if passage is None:
        raise MemoryFault(f"recalled a passage that is {_kind(given)}; give text, or an object with a `text`")
    return passage if passage.score is None else replace(passage, score=float(passage.score))


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


def _kind(given: Any) -> str:
    return "nothing" if given is None else f"{type(given).__name__}"
