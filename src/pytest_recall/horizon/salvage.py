"""Read the JSON in a model's reply, also from a reply that was cut off."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

MAX_REPLY = 2_000_000
_ARRAY = re.compile(r"\[\s*(?=[{\]])")
_BETWEEN = re.compile(r"[\s,]*")
_DECODER = json.JSONDecoder()


class UnreadableReply(Exception):  # noqa: N818 - it is what the reply is, and no error of ours
    """A reply without what was asked for; the message goes on after "the reply"."""


class Salvaged(NamedTuple):
    """The objects of a list, and whether the list came to its end."""

    items: list[dict[str, Any]]
    whole: bool


def objects_in(reply: str) -> Salvaged:
    """Return the objects of the list in a reply, as many as are complete. Raises Unreadable for none."""
    begin = _ARRAY.search(_bounded(reply))
    if begin is None:
        raise UnreadableReply("has no JSON list of objects")
    items, at = list[dict[str, Any]](), begin.end()
    while True:
        at = _BETWEEN.match(reply, at).end()  # type: ignore[union-attr]
        if reply[at : at + 1] == "]":
            return Salvaged(items, True)
        found = _decoded(reply, at)
        if found is None or not isinstance(found[0], dict):
            break
        items.append(found[0])
        at = found[1]
    if not items:
        raise UnreadableReply("has a JSON list that breaks off in its first object")
    return Salvaged(items, False)


def object_in(reply: str) -> dict[str, Any]:
    """Return the first object in a reply that is JSON. Raises Unreadable."""
    at = _bounded(reply).find("{")
    while at >= 0:
        found = _decoded(reply, at)
        if found is not None and isinstance(found[0], dict):
            return found[0]
        at = reply.find("{", at + 1) if at < 10_000 else -1
    raise UnreadableReply("has no JSON object" + (", or it breaks off" if "{" in reply else ""))


def _bounded(reply: str) -> str:
    if len(reply) > MAX_REPLY:
        raise UnreadableReply(f"has more than {MAX_REPLY:,} characters")
    return reply


def _decoded(text: str, at: int) -> tuple[Any, int] | None:
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
