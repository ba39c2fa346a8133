"""Fill templates that name variables, and read texts that may be JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any


def parsed(text: str) -> Any:
    """Return what a text is as JSON; if it is none, the text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_PLAIN = re.compile(r"\{\{[ \t\r\n]*([A-Za-z_]\w*)[ \t\r\n]*\}\}")
_MARKS = ("{{", "{%", "{#")
_DEPTH = 5
MAX_CHARACTERS = 1_000_000


class NotPlainError(Exception):
    """The template does more than name a variable."""


def is_template(text: str) -> bool:
    """Whether a text has a mark of a template."""
    return any(mark in text for mark in _MARKS)


def fill(text: str, given: Mapping[str, Any], depth: int = 0) -> str:
    """Return a template with the values of variables, which may name variables themselves.

    A variable that is not given is empty, as in Nunjucks. Within a value it stays as it is written, and so does what
    else looks like a template there, as promptfoo puts values into values by names alone. Raises NotPlainError for
    anything else than names of texts, numbers and truth values.
    """
    if not is_template(text):
        return text
    bare = _PLAIN.sub("", text)
    if depth > _DEPTH or (depth == 0 and is_template(bare)):
        raise NotPlainError

    def put(found: re.Match[str]) -> str:
        return found[0] if depth and found[1] not in given else _shown(given.get(found[1]), given, depth)

    made = _PLAIN.sub(put, text)
    if len(made) > MAX_CHARACTERS:
        raise NotPlainError
    return made


def fill_all(value: Any, given: Mapping[str, Any]) -> Any:
    """Return plain values in which each text is filled in. Raises NotPlainError."""
    if isinstance(value, str):
        return fill(value, given)
    if isinstance(value, Mapping):
        return {key: fill_all(inner, given) for key, inner in value.items()}
    if isinstance(value, list):
        return [fill_all(inner, given) for inner in value]
    return value


def _shown(value: Any, given: Mapping[str, Any], depth: int) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return fill(value, given, depth + 1)
    if isinstance(value, Mapping | list):
        raise NotPlainError
    return number(value)


def number(value: Any) -> str:
    """Return a number or a truth value as JavaScript shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else str(value)
