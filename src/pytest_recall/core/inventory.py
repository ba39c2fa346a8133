"""Inventory: what a dataset holds, counted sample by sample."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pytest_recall.core.dataset import Kind, Oddity, Sample

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
