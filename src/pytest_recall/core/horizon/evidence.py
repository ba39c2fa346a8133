"""Evidence: what of a day's text somebody is shown who looks at an answer again, within a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_recall.metrics.text import tokens

_TOPIC = re.compile(r"(?m)^(?=#{1,3} )")
LEFT_OUT = "[…]"
LEAST = 200
"""Characters of a part below which it is left out instead of cut, but for the nearest one."""


def evidence(question: str, reference: str, texts: Mapping[int, str], limit: int) -> dict[int, str]:
    """Return the parts of each day that share most words with a question and its reference, in their order.

    Each day may take its share of `limit` characters; what is left out is marked.
    """
    wanted = set(tokens(f"{question} {reference}"))
    room = limit // max(len(texts), 1)
    return {day: _parts(text.strip(), wanted, room) for day, text in texts.items()}


def _parts(text: str, wanted: set[str], room: int) -> str:
    if len(text) <= room:
        return text
    parts = [part.strip() for part in _TOPIC.split(text) if part.strip()]
    kept: dict[int, str] = {}
    for place in sorted(range(len(parts)), key=lambda at: (-len(wanted & set(tokens(parts[at]))), at)):
        part = parts[place]
        if len(part) > room and room < (LEAST if kept else len(LEFT_OUT) + 1):
            continue
        kept[place] = part if len(part) <= room else part[: room - len(LEFT_OUT)].rstrip() + LEFT_OUT
        room -= len(kept[place])
    shown = "\n\n".join(kept[place] for place in sorted(kept))
    return shown if len(kept) == len(parts) else f"{shown}\n\n{LEFT_OUT}"
