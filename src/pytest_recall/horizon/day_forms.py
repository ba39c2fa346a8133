"""Turn a day into other forms: a conversation, and calls of a memory tool."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from pytest_recall.files.wording import one_line
from pytest_recall.horizon.salvage import UnreadableReply, object_in, objects_in

TOOL = "memorySave"


class SavedCall(NamedTuple):
    """One call: in which session, and what is to be kept."""

    session: str
    content: str


class MemoryCalls(NamedTuple):
    """The calls of a day, in the order of its sessions, and why others are not taken."""

    taken: tuple[SavedCall, ...]
    dropped: tuple[str, ...]


def read_calls(reply: str, sessions: Sequence[str]) -> MemoryCalls:
    """Return the calls in a reply that belong to one of the sessions of the day. Raises Unreadable for none."""
    found = object_in(reply).get("calls")
    if not isinstance(found, list):
        raise UnreadableReply("has an object without a list `calls`")
    taken, dropped = list[SavedCall](), list[str]()
    for item in found:
        if not isinstance(item, dict):
            dropped.append(f"is not a call: {one_line(str(item), 60)}")
            continue
        session, content, tool = item.get("session"), item.get("content"), item.get("tool", TOOL)
        if tool != TOOL:
            dropped.append(f"calls {one_line(str(tool), 40)!r}, and the tool is {TOOL}")
        elif not isinstance(content, str) or not content.strip():
            dropped.append("has nothing to keep")
        elif not isinstance(session, str) or session not in sessions:
            dropped.append(f"is in {one_line(str(session), 40)!r}, which is not a session of the day")
        else:
            taken.append(SavedCall(session, content.strip()))
    if not taken:
        raise UnreadableReply("has no call that can be taken" + (f": the first {dropped[0]}" if dropped else ""))
    return MemoryCalls(tuple(sorted(taken, key=lambda call: sessions.index(call.session))), tuple(dropped))


def calls_in(plain: Any, day: int) -> tuple[SavedCall, ...]:
    """Return the calls of the file of a day, read from YAML. Raises ValueError for what is none."""
    rows = plain.get("calls") if isinstance(plain, dict) else None
    if not isinstance(rows, list):
        raise ValueError("has no list `calls`")
    if plain.get("day", day) != day:
        raise ValueError(f"says that it is of day {plain['day']!r}, and its name that of day {day}")
    found = []
    for place, row in enumerate(rows, start=1):
        session, content = (row.get(name) if isinstance(row, dict) else None for name in ("session", "content"))
        if not isinstance(session, str) or not isinstance(content, str) or not session or not content.strip():
            raise ValueError(f"call {place} has no `session` or no `content`")
        if row.get("tool", TOOL) != TOOL:
            raise ValueError(f"call {place} is of the tool {row['tool']!r}, and not of {TOOL}")
        found.append(SavedCall(session, content.strip()))
    return tuple(found)


Form = Literal["markdown", "json"]
FEWEST = 2
ROLES = ("user", "assistant")
ENDINGS: dict[Form, str] = {"markdown": "md", "json": "json"}
STEM = "conv"
_SPEAKER = re.compile(r"^\*\*(User|Assistant)\*\*:[ \t]*$", re.MULTILINE)


class DialogueTurn(NamedTuple):
    """What one of the two in a dialogue says."""

    role: str
    """`user`, or `assistant` for the agent."""
    content: str


def read_turns(reply: str) -> tuple[DialogueTurn, ...]:
    """Return the conversation in a reply. Raises Unreadable unless all of it is there, and both say something."""
    found = objects_in(reply)
    if not found.whole:
        raise UnreadableReply(f"breaks off after {len(found.items)} turns")
    turns = []
    for place, item in enumerate(found.items, start=1):
        role, content = item.get("role"), item.get("content")
        if role not in ROLES or not isinstance(content, str) or not content.strip():
            raise UnreadableReply(f"has a turn {place} without a text, or without a role: {one_line(str(item), 60)}")
        turns.append(DialogueTurn(role, content.strip()))
    if len(turns) < FEWEST or {turn.role for turn in turns} != set(ROLES):
        raise UnreadableReply(f"has {len(turns)} turns, and not both of them speak")
    if turns[0].role != "user":
        raise UnreadableReply("begins with the assistant, and not with the user")
    return tuple(turns)


def turns_in(text: str, form: Form) -> tuple[DialogueTurn, ...]:
    """Return the turns of a conversation's file. Raises ValueError for what is none."""
    if form == "json":
        try:
            rows = json.loads(text)
        except RecursionError:
            rows = None
        if not isinstance(rows, list):
            raise ValueError("is not a list of turns")
        found = [(one.get("role"), one.get("content")) if isinstance(one, dict) else (None, None) for one in rows]
    else:
        before, *parts = _SPEAKER.split(text)
        if before.strip():
            raise ValueError("has text before the first speaker")
        found = [(role.lower(), said) for role, said in zip(parts[::2], parts[1::2], strict=True)]
    if not found:
        raise ValueError("has no turns")
    turns = []
    for place, (role, said) in enumerate(found, start=1):
        if role not in ROLES or not isinstance(said, str):
            raise ValueError(f"turn {place} has no text, or no role among {' and '.join(ROLES)}")
        turns.append(DialogueTurn(role, said.strip()))
    return tuple(turns)


def written(turns: Sequence[DialogueTurn], form: Form) -> str:
    """Return the text of a conversation's file."""
    if form == "json":
        return json.dumps([turn._asdict() for turn in turns], indent=2, ensure_ascii=False) + "\n"
    return "\n".join(f"**{turn.role.capitalize()}**:\n\n{turn.content}\n" for turn in turns)
