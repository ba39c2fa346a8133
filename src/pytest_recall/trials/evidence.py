"""Match the passages of an answer against the evidence that a question needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_recall.cases.memory_part import Unit
from pytest_recall.trials.trial import Passage

UNNAMED = "no passage names its source text, so evidence cannot be matched; return its id"
NAMELESS = "?"
"""What the id of a passage begins with that names no text: `?1` is the first one."""


def names_of(units: Sequence[Unit], evidence: Sequence[str]) -> dict[str, str]:
    """Return for each unit, by its id, what evidence would name it: itself, or its session if evidence is of sessions.

    Where it is of sessions each of these is there too, under its own name. Evidence may be what was not told.
    """
    names = {unit.id: unit.id for unit in units}
    if set(evidence) <= names.keys():
        return names
    sessions = {unit.id: unit.home or unit.id for unit in units}
    if set(evidence).isdisjoint(sessions.values()):
        return names
    return {**sessions, **{session: session for session in sessions.values()}}


def ranked(passages: Sequence[Passage], units: Sequence[Unit], evidence: Sequence[str]) -> list[str] | None:
    """Return for each passage the id that evidence could name, in their order; None if nothing says what they are.

    That is the id of a unit, or its session where evidence is of sessions. A passage that contains
    the whole text of a unit that is evidence is taken for it; one that names nothing has `NAMELESS` and its rank.
    """
    wanted = set(evidence)
    names = names_of(units, evidence)
    gold = [(unit.content, names[unit.id]) for unit in units if names[unit.id] in wanted]
    found = [
        names.get(one.source or "") or next((id for content, id in gold if content in one.text), None)
        for one in passages
    ]
    if passages and not any(found):
        return None
    return [id or f"{NAMELESS}{rank}" for rank, id in enumerate(found, start=1)]


def renamed(passages: Sequence[Passage], names: Mapping[str, str]) -> tuple[Passage, ...]:
    """Return passages, those from what is among `names` with the name that it has there."""
    found = [(one, names.get(one.source or "")) for one in passages]
    return tuple(one if name is None else replace(one, source=name) for one, name in found)
