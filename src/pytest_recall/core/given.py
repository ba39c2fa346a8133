"""Given: texts, numbers and passages as people's own code and services hand them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from pytest_recall.core.trial import Passage


def field_of(given: Any) -> Callable[..., Any]:
    """Return what looks up a field of a mapping or an attribute of any other object, None if it is not there."""
    return given.get if isinstance(given, Mapping) else lambda name, default=None: getattr(given, name, default)


def well_formed(text: str) -> str:
    """Return `text` as it can be written as UTF-8 and sent between processes: a lone surrogate becomes a "?"."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def number_of(value: Any) -> float | None:
    """Return `value` if it is a finite number, and None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # an integer that no float can hold
        return None


def passage_of(given: Any) -> Passage | None:
    """Return the passage that is a text, or an object or mapping with `text`; None for anything else."""
    if isinstance(given, str):
        return Passage(text=well_formed(given))
    get = field_of(given)
    text, source = get("text"), get("source")
    if not isinstance(text, str):
        return None
    return Passage(
        text=well_formed(text),
        source=None if source is None else well_formed(str(source)),
        score=number_of(get("score")),
    )
