"""Decide how a conversation becomes the texts that a memory is told, and what these are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pytest_recall.datasets.dataset import Conversation, Utterance, is_blank


class DatasetUnit(NamedTuple):
    """What a memory is told at once. `id` is that of the turn or session, which evidence names, and so is `session`.

    `metadata` is told with it: `id`, `conversation`, `session`, `speaker` (of a turn), and `date` in ISO 8601 where it
    is known. These ids are others where those of the dataset give something away.
    """

    id: str
    session: str
    text: str
    metadata: Mapping[str, str]


def units(conversation: Conversation, unit: str = "turn") -> Iterator[DatasetUnit]:
    """Yield what a memory is told, from the oldest to the newest, without turns that say nothing."""
    begin = _neutral(conversation)
    for number, session in enumerate(conversation.sessions, start=1):
        name = f"{begin}{number}" if begin else session.id
        about = {"conversation": f"C{conversation.place}" if begin else conversation.id, "session": name}
        if session.date is not None:
            about["date"] = session.date.isoformat(timespec="minutes")
        elif session.written:
            about["date_written"] = session.written
        turns = [(f"{name}:{n}" if begin else one.id, one) for n, one in enumerate(session.turns, 1)]
        told = [(id, one) for id, one in turns if not is_blank(one)]
        if unit == "turn":
            for id, one in told:
                yield DatasetUnit(one.id, session.id, said(one), {**about, "speaker": one.speaker, "id": id})
        elif told:
            yield DatasetUnit(session.id, session.id, "\n".join(said(one) for _, one in told), {**about, "id": name})


def _neutral(conversation: Conversation) -> str:
    """Return what the ids of a conversation's sessions begin with as they are told; empty where its own are told.

    No id of the dataset begins with it, so that none is taken for one that is told.
    """
    begin = "S" if conversation.place else ""
    ids = [id for one in conversation.sessions for id in (one.id, *(turn.id for turn in one.turns))] if begin else []
    while any(id.startswith(begin) for id in ids):
        begin += "S"
    return begin


def said(turn: Utterance) -> str:
    """Return a turn as text: who said what, and in brackets what an image showed."""
    text, caption = turn.text.strip(), turn.caption.strip()
    return " ".join(part for part in (f"{turn.speaker}:", text, caption and f"[image: {caption}]") if part)
