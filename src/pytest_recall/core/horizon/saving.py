"""Saving: what an agent would have told its memory on a day, by calls of a tool in each session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_recall.core.errors import one_line
from pytest_recall.core.horizon.salvage import Unreadable, object_in

TOOL = "memorySave"


class SavedCall(NamedTuple):
    """One call: in which session, and what is to be kept."""

    session: str
    content: str


class Calls(NamedTuple):
    """The calls of a day, in the order of its sessions, and why others are not taken."""

    taken: tuple[SavedCall, ...]
    dropped: tuple[str, ...]


def read_calls(reply: str, sessions: Sequence[str]) -> Calls:
    """Return the calls in a reply that belong to one of the sessions of the day. Raises Unreadable for none."""
    found = object_in(reply).get("calls")
    if not isinstance(found, list):
        raise Unreadable("has an object without a list `calls`")
    taken, dropped = list[SavedCall](), list[str]()
    for item in found:
        if not isinstance(item, dict):
            dropped.append(f"is no call: {one_line(str(item), 60)}")
            continue
        session, content, tool = item.get("session"), item.get("content"), item.get("tool", TOOL)
        if tool != TOOL:
            dropped.append(f"calls {one_line(str(tool), 40)!r}, and the tool is {TOOL}")
        elif not isinstance(content, str) or not content.strip():
            dropped.append("has nothing to keep")
        elif not isinstance(session, str) or session not in sessions:
            dropped.append(f"is in {one_line(str(session), 40)!r}, which is no session of the day")
        else:
            taken.append(SavedCall(session, content.strip()))
    if not taken:
        raise Unreadable("has no call that can be taken" + (f": the first {dropped[0]}" if dropped else ""))
    return Calls(tuple(sorted(taken, key=lambda call: sessions.index(call.session))), tuple(dropped))
