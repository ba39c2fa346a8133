"""Prefix the ids of turns and sessions with their conversation, for a store that holds several conversations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate

from pytest_recall.datasets.dataset import Question
from pytest_recall.datasets.telling import DatasetUnit


def named(conversation: str, id: str) -> str:
    """Return the id of a turn or session among those of all conversations, whose own ids have no `#`."""
    return f"{conversation}#{id}"


def unit_apart(unit: DatasetUnit, conversation: str) -> DatasetUnit:
    """Return a unit of a conversation with the ids that it has among those of all conversations."""
    told = {name: named(unit.metadata["conversation"], unit.metadata[name]) for name in ("id", "session")}
    return unit._replace(
        id=named(conversation, unit.id),
        session=named(conversation, unit.session),
        metadata={**unit.metadata, **told},
    )


def question_apart(question: Question, conversation: str) -> Question:
    """Return a question about a conversation, whose evidence is named as its units are."""
    return replace(
        question,
        evidence=tuple(named(conversation, id) for id in question.evidence),
        evidence_sessions=tuple(named(conversation, id) for id in question.evidence_sessions),
    )


def keys_so_far(keys: Iterable[str]) -> Iterator[str]:
    """Yield for each conversation, of which these are the `keys`, thirty-two hex digits over it and those before it."""
    return accumulate(keys, lambda before, key: sha256(f"{before} {key}".encode()).hexdigest()[:32])
