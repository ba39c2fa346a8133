"""Wording: an ask as plain text, for whoever takes nothing else, and a schema in words."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from pytest_recall.core.model import Ask

SETTINGS = ("temperature", "max_tokens", "seed", "schema")
"""What of an ask is a wish about the reply, and is not said in the prompt."""

_NAMES = {"user": "User", "assistant": "Assistant"}


def prompt_of(ask: Ask) -> str:
    """Return everything of the ask that can be said in text, as one prompt."""
    if len(ask.messages) == 1:
        said = ask.messages[0].content
    else:
        said = "\n\n".join(f"{_NAMES.get(role, role)}: {content}" for role, content in ask.messages)
    return "\n\n".join(part for part in (system_of(ask, in_words=True), said) if part)


def system_of(ask: Ask, *, in_words: bool) -> str:
    """Return the system prompt, with the schema `in_words` if the model takes no schema."""
    words = schema_in_words(ask.schema) if in_words and ask.schema is not None else ""
    return "\n\n".join(part for part in (ask.system, words) if part)


def schema_in_words(schema: Mapping[str, Any]) -> str:
    """Return a request for JSON that fits `schema`."""
    written = json.dumps(schema, ensure_ascii=False)
    return f"Reply with a JSON object that fits this JSON Schema, and with nothing else:\n{written}"


def unheeded(ask: Ask, heeded: Collection[str] = ()) -> tuple[str, ...]:
    """Return which settings the ask gives beside those that are `heeded`."""
    return tuple(name for name in SETTINGS if getattr(ask, name) is not None and name not in heeded)
