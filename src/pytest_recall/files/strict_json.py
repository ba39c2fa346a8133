"""Read JSON as RFC 8259 has it, where each key stands once and each number is one that a double holds."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from pytest_recall.files.coerce import check_depth


def strict_json(text: str) -> Any:
    """Return the JSON value in `text`.

    Raises ValueError, also for a key twice, for a number that is none, and for what is nested too deep.
    """
    check_depth(text)
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_float=_finite)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"`{twice}` is written twice")
    return values


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")
