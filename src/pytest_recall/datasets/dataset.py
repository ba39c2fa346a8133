"""Conversations that a memory is told and the questions that it is asked about them, and an inventory of both."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.files.errors import RecallError

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case, JudgeCall


class Utterance(NamedTuple):
    """What one speaker said."""

    id: str
    speaker: str
    text: str
    caption: str = ""
    """Describes an image that came with it; it is not a word of the speaker."""


class Session(NamedTuple):
    """A sitting of a conversation."""

    id: str
    turns: tuple[Utterance, ...]
    date: datetime | None = None
    """None where `written` cannot be read."""
    written: str = ""
    """The date as the file has it."""


class Conversation(NamedTuple):
    """Sessions from the oldest to the newest; ids of sessions and of turns are unique in it."""

    id: str
    sessions: tuple[Session, ...]
    place: int = 0
    """The number by which a memory knows it, where its own ids give something away, such as what is evidence; else
    0."""

    def turns(self) -> Iterator[Utterance]:
        """Yield the turns of all sessions, in their order."""
        for session in self.sessions:
            yield from session.turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a memory is asked about a conversation, and what there is to judge its answer by."""

    id: str
    text: str
    answer: str | None
    """None where the file has none."""
    category: str
    evidence: tuple[str, ...] = ()
    """The ids of the turns that hold the answer, as far as they exist."""
    evidence_sessions: tuple[str, ...] = ()
    """The ids of the sessions of these turns, as far as they exist."""
    unresolved: tuple[str, ...] = ()
    """Evidence that names neither a turn nor a session, as written."""
    unanswerable: bool = False
    """Whether it asks for what was never said, so that an answer that says so is right."""
    adversarial_answer: str | None = None
    """The wrong answer that an unanswerable question invites."""
    date: datetime | None = None
    """The day on which it is asked; None if the file does not say."""
    written: str = ""


class Kind(StrEnum):
    """What may be odd in a file that can be read all the same."""

    EVIDENCE = "evidence that names no turn or session"
    REPAIRED = "evidence written in an unusual way"
    NO_EVIDENCE = "questions without evidence"
    NO_ANSWER = "questions without an answer"
    TWO_ANSWERS = "questions with two answers"
    NO_DATE = "dates that cannot be read"
    NO_SESSION = "dates without a session"
    UNREAD = "lists that are not sessions"
    SAME_ID = "ids that are used twice"
    BLANK = "turns without text"


class Oddity(NamedTuple):
    """Something odd: of which kind, where, and what was done about it."""

    kind: Kind
    place: str
    said: str


class Sample(NamedTuple):
    """A conversation with the questions about it."""

    row: int
    """Its number in the file, from 1."""
    conversation: Conversation
    questions: tuple[Question, ...]
    oddities: tuple[Oddity, ...] = ()


def is_blank(turn: Utterance) -> bool:
    """Whether a turn has neither text nor an image."""
    return not turn.text.strip() and not turn.caption.strip()


def case_of(question: Question, scenario: str, judges: Sequence[JudgeCall]) -> Case:
    """Return the case that asks the question; its dimension is the category. Raises RecallError."""
    # Imported here: those who only look into a file need no pydantic.
    from pydantic import ValidationError

    from pytest_recall.cases.case import Case

    try:
        return Case(
            id=question.id,
            scenario=scenario,
            dimension=question.category,
            input=question.text,
            expected=question.answer,
            judges=tuple(judges),
        )
    except ValidationError as error:
        raise RecallError(f"question {question.id!r} makes no case: {error.errors()[0]['msg']}; correct it") from None


SHOWN = 20
"""How many places are kept of each kind of oddity; all of them are counted."""


@dataclass(slots=True)
class Inventory:
    """Counts over samples; `add` each of them once."""

    conversations: int = 0
    sessions: int = 0
    turns: int = 0
    unanswerable: int = 0
    categories: Counter[str] = field(default_factory=Counter)
    oddities: Counter[Kind] = field(default_factory=Counter)
    places: dict[Kind, list[Oddity]] = field(default_factory=dict)

    @property
    def questions(self) -> int:
        """How many questions there are, of all categories."""
        return self.categories.total()

    def add(self, sample: Sample) -> None:
        """Count what is in a sample."""
        self.conversations += 1
        self.sessions += len(sample.conversation.sessions)
        self.turns += sum(len(session.turns) for session in sample.conversation.sessions)
        self.categories.update(question.category for question in sample.questions)
        self.unanswerable += sum(question.unanswerable for question in sample.questions)
        for oddity in sample.oddities:
            self.oddities[oddity.kind] += 1
            kept = self.places.setdefault(oddity.kind, [])
            if len(kept) < SHOWN:
                kept.append(oddity)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types."""
        return {
            "conversations": self.conversations,
            "sessions": self.sessions,
            "turns": self.turns,
            "questions": self.questions,
            "unanswerable": self.unanswerable,
            "categories": dict(sorted(self.categories.items())),
            "oddities": [
                {
                    "kind": kind.name.lower(),
                    "count": self.oddities[kind],
                    "places": [{"place": one.place, "said": one.said} for one in self.places[kind]],
                }
                for kind in Kind
                if self.oddities[kind]
            ],
        }
