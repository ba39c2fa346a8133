"""Dialogue: a day as a conversation between the agent and whom it works for, and the two forms of its file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, NamedTuple

from pytest_recall.core.errors import one_line
from pytest_recall.core.horizon.salvage import Unreadable, objects_in

Form = Literal["markdown", "json"]
FEWEST = 2
ROLES = ("user", "assistant")
ENDINGS: dict[Form, str] = {"markdown": "md", "json": "json"}
STEM = "conv"


class Turn(NamedTuple):
    """What one of them says; `role` is `user`, or `assistant` for the agent."""

    role: str
    content: str


def read_turns(reply: str) -> tuple[Turn, ...]:
    """Return the conversation in a reply. Raises Unreadable unless all of it is there, and both say something."""
    found = objects_in(reply)
    if not found.whole:
        raise Unreadable(f"breaks off after {len(found.items)} turns")
    turns = []
    for place, item in enumerate(found.items, start=1):
        role, content = item.get("role"), item.get("content")
        if role not in ROLES or not isinstance(content, str) or not content.strip():
            raise Unreadable(f"has a turn {place} that is none: {one_line(str(item), 60)}")
        turns.append(Turn(role, content.strip()))
    if len(turns) < FEWEST or {turn.role for turn in turns} != set(ROLES):
        raise Unreadable(f"has {len(turns)} turns, and not both of them speak")
    if turns[0].role != "user":
        raise Unreadable("begins with the agent, and not with whom it works for")
    return tuple(turns)


def written(turns: Sequence[Turn], form: Form) -> str:
    """Return the text of a conversation's file."""
    if form == "json":
        return json.dumps([turn._asdict() for turn in turns], indent=2, ensure_ascii=False) + "\n"
    return "\n".join(f"**{turn.role.capitalize()}**:\n\n{turn.content}\n" for turn in turns)
