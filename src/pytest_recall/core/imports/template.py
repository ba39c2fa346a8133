"""Template: `{{ name }}` filled in, and nothing else that Nunjucks can do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLAIN = re.compile(r"\{\{[ \t\r\n]*([A-Za-z_]\w*)[ \t\r\n]*\}\}")
_MARKS = ("{{", "{%", "{#")
_DEPTH = 5
MAX_CHARACTERS = 1_000_000


class NotPlainError(Exception):
    """The template does more than name a variable."""


def fill(text: str, given: Mapping[str, Any], depth: int = 0) -> str:
    """Return a template with the values of variables, which may be templates themselves.

    A variable that is not given is empty, as in Nunjucks. Raises NotPlainError for anything else than names of texts,
    numbers and truth values.
    """
    if not any(mark in text for mark in _MARKS):
        return text
    bare = _PLAIN.sub("", text)
    if depth > _DEPTH or any(mark in bare for mark in _MARKS):
        raise NotPlainError
    made = _PLAIN.sub(lambda found: _shown(given.get(found[1]), given, depth), text)
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
        made = fill(value, given, depth + 1)
        if len(made) > MAX_CHARACTERS:
            raise NotPlainError
        return made
    if isinstance(value, Mapping | list):
        raise NotPlainError
    return number(value)


def number(value: Any) -> str:
    """Return a number or a truth value as JavaScript shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else str(value)
