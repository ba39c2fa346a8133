"""Tell a day's notes in another form without a model: as a conversation, or as tool calls."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pytest_recall.horizon.day_forms import DialogueTurn, SavedCall
from pytest_recall.horizon.passes.work import Dice
from pytest_recall.horizon.persona import sessions_in

EXCHANGES = 6
"""Questions and answers in a conversation, at most."""
CALLS = 18
"""Calls of a day, at most."""
_OUTSTANDING = "Outstanding"
_KEPT = re.compile(r"\d|[“”\"]")
"""What is worth keeping has a figure, a date or somebody's words in it."""
_OPENINGS = ("What is new about {}?", "How do we stand on {}?", "Tell me about {}.", "Where are we with {}?")


class Topic(NamedTuple):
    """What is said under one heading of a session's part of a day."""

    session: str
    title: str
    lines: tuple[str, ...]


def topics(text: str) -> list[Topic]:
    """Return the topics of a day's text, those without a line left out; what is outstanding is one of its own."""
    return [topic for session, part in sessions_in(text).items() for topic in _topics(session, part) if topic.lines]


def conversation(text: str, seed: str) -> tuple[DialogueTurn, ...]:
    """Return a day as questions by whom the agent works for, and the notes as answers; empty for a day without any."""
    found = topics(text)
    size, dice = -(-len(found) // EXCHANGES) or 1, Dice(seed)
    turns = list[DialogueTurn]()
    for start in range(0, len(found), size):
        some = found[start : start + size]
        names = list(dict.fromkeys(_name(topic) for topic in some if topic.title != _OUTSTANDING))
        asked = (
            dice.pick(_OPENINGS, text, start).format(" and ".join(f"“{name}”" for name in names))
            if names
            else "What is outstanding?"
        )
        told = "\n\n".join("\n".join(topic.lines) for topic in some)
        turns += [DialogueTurn("user", asked), DialogueTurn("assistant", told)]
    return tuple(turns)


def calls(text: str) -> tuple[SavedCall, ...]:
    """Return what of a day is worth keeping: a call for each line with a figure, a date or somebody's words."""
    kept = [
        SavedCall(topic.session, f"{_name(topic)}: {line}")
        for topic in topics(text)
        if topic.title != _OUTSTANDING
        for line in topic.lines
        if _KEPT.search(line)
    ]
    if not kept:
        kept = [SavedCall(topic.session, f"{_name(topic)}: {topic.lines[0]}") for topic in topics(text)]
    # Of a long day some of all sessions, and not only of the first ones.
    return tuple(kept[round(at * len(kept) / CALLS)] for at in range(CALLS)) if len(kept) > CALLS else tuple(kept)


def _topics(session: str, part: str) -> Iterator[Topic]:
    title, lines = session, list[str]()
    for line in part.splitlines():
        heading = line.removeprefix("### ") if line.startswith("### ") else None
        if heading is not None or line.strip() == f"{_OUTSTANDING}:":
            yield Topic(session, title, tuple(lines))
            title, lines = (_OUTSTANDING if heading is None else heading.strip()), []
        elif line.strip():
            lines.append(line.strip())
    yield Topic(session, title, tuple(lines))


def _name(topic: Topic) -> str:
    return topic.title.partition(" — ")[0]
