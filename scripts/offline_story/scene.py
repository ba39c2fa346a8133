"""Define what question templates are given, and the form of the proposals that they return."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from offline_story.day_sentences import ToldDay
from pytest_recall.horizon.corpus import Corpus
from pytest_recall.horizon.passes.questions import QuestionRequest
from pytest_recall.horizon.persona import Persona, Story, sessions_in

Proposal = dict[str, Any]


class Scene(NamedTuple):
    """What proposals are made from: the days that are shown, and the story that they tell."""

    days: Sequence[ToldDay]
    story: Story
    persona: Persona

    def is_isolated(self, session: str) -> bool:
        """Whether nothing of a session may come out elsewhere."""
        found = self.persona.session(session)
        return found is not None and found.isolated

    def place(self, session: str) -> dict[str, str]:
        """Return where something may be asked that was said in a session."""
        return {"query_session": session} if self.is_isolated(session) else {}

    def on(self, day: int | None) -> ToldDay | None:
        """Return a day that is shown."""
        return next((told for told in self.days if told.day == day), None)


def made(question: str, answer: str, category: str, difficulty: str, days: Sequence[int], **more: Any) -> Proposal:
    """Return a proposal by the names of a question's fields."""
    found = {"question": question, "answer": answer, "category": category, "difficulty": difficulty}
    return {**found, "relevant_days": sorted(set(days)), "requires_synthesis": len(set(days)) > 1, **more}


def drawn(seed: str, text: str) -> str:
    """Return what decides the place of a text among others."""
    return hashlib.sha256(f"{seed}\0{text}".encode()).hexdigest()


def scene_of(corpus: Corpus, request: QuestionRequest) -> Scene:
    """Return what templates are given: the days that are shown, of a session alone where the request is about one."""
    session = request.session
    days = [
        ToldDay(day, corpus.calendar.date_of(day), {session.id: text} if session else sessions_in(text))
        for day, text in request.texts.items()
    ]
    return Scene(days, corpus.story, corpus.persona)
