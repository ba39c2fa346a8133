"""Split a conversation into the units that a memory stores, and give each unit its id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate
from typing import Literal, NamedTuple

from pytest_recall.datasets.dataset import Conversation, Question, Utterance

Granularity = Literal["turn", "pair", "session"]
"""What a memory is told at a time. A pair is a turn with the reply to it, by another speaker."""
_REPLIES = "assistant"
"""The speaker who begins no pair: an assistant answers a user."""


class Telling(NamedTuple):
    """How a conversation is told."""

    unit: Granularity = "turn"
    captions: bool = True
    """Whether with the captions of images."""
    dates: bool = True
    """Whether with the dates of sessions."""


AS_IT_IS = Telling()


class DatasetUnit(NamedTuple):
    """What a memory is told at once.

    The ids are others where those of the dataset give something away.
    """

    id: str
    """That of the turn or session, which evidence names; a pair has the ids of its turns, joined by `+`."""
    session: str
    """That of the session, which evidence names."""
    turns: tuple[str, ...]
    text: str
    metadata: Mapping[str, str]
    """Told with the text: `id`, `conversation`, `session`, `speaker` (of a single turn), and `date` in ISO 8601 where
    it is known."""


class _ToldTurn(NamedTuple):
    """A turn that says something: its id as it is told, and its text."""

    turn: Utterance
    id: str
    text: str


def units(conversation: Conversation, telling: Telling = AS_IT_IS) -> Iterator[DatasetUnit]:
    """Yield what a memory is told, from the oldest to the newest, without turns that say nothing."""
    begin = _neutral(conversation)
    for number, session in enumerate(conversation.sessions, start=1):
        name = f"{begin}{number}" if begin else session.id
        about = {"conversation": f"C{conversation.place}" if begin else conversation.id, "session": name}
        if not telling.dates:
            pass
        elif session.date is not None:
            about["date"] = session.date.isoformat(timespec="minutes")
        elif session.written:
            about["date_written"] = session.written
        turns = [(f"{name}:{n}" if begin else one.id, one) for n, one in enumerate(session.turns, 1)]
        told = [_ToldTurn(one, id, text) for id, one in turns if (text := said(one, captions=telling.captions))]
        whole = telling.unit == "session"
        for group in _groups(told, telling.unit):
            speaker = {"speaker": group[0].turn.speaker} if len(group) == 1 and not whole else {}
            ids = tuple(one.turn.id for one in group)
            yield DatasetUnit(
                id=session.id if whole else "+".join(ids),
                session=session.id,
                turns=ids,
                text="\n".join(one.text for one in group),
                metadata={**about, **speaker, "id": name if whole else "+".join(one.id for one in group)},
            )


def _groups(told: Sequence[_ToldTurn], unit: Granularity) -> Iterator[Sequence[_ToldTurn]]:
    """Yield the turns of a session that are told at once."""
    if unit == "session":
        yield from [told] if told else []
        return
    open_: list[_ToldTurn] = []
    for one in told:
        if open_ and open_[0].turn.speaker not in (one.turn.speaker, _REPLIES):
            yield [*open_, one]
            open_ = []
            continue
        if open_:
            yield open_
        open_ = [one]
        if unit == "turn":
            yield open_
            open_ = []
    if open_:
        yield open_


def in_units(question: Question, told: Iterable[DatasetUnit]) -> Question:
    """Return a question whose evidence is what has the turns in it; a turn that was not told is still evidence."""
    names = {turn: one.id for one in told for turn in one.turns}
    return replace(question, evidence=tuple(dict.fromkeys(names.get(id, id) for id in question.evidence)))


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


def _neutral(conversation: Conversation) -> str:
    """Return what the ids of a conversation's sessions begin with as they are told; empty where its own are told.

    No id of the dataset begins with it, so that none is taken for one that is told.
    """
    begin = "S" if conversation.place else ""
    ids = [id for one in conversation.sessions for id in (one.id, *(turn.id for turn in one.turns))] if begin else []
    while any(id.startswith(begin) for id in ids):
        begin += "S"
    return begin


def said(turn: Utterance, *, captions: bool = True) -> str:
    """Return a turn as text: who said what, and in brackets what an image showed; empty where that is nothing."""
    text, caption = turn.text.strip(), turn.caption.strip() if captions else ""
    words = [part for part in (text, caption and f"[image: {caption}]") if part]
    return " ".join([f"{turn.speaker}:", *words]) if words else ""
