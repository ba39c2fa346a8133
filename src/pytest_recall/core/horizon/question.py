"""Question: what a memory is asked about a persona's days, with the days that hold the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from pydantic import Field

from pytest_recall.core.horizon.persona import PRINCIPAL, Day, Text, Written

Category = Literal[
    "factual-recall",
    "temporal-reasoning",
    "decision-tracking",
    "contradiction-resolution",
    "cross-reference",
    "recency-bias-resistance",
    "synthesis",
    "negative-recall",
    "group-session-attribution",
    "information-boundary",
]
CATEGORIES: tuple[Category, ...] = get_args(Category)
GROUP_CATEGORIES = ("group-session-attribution", "information-boundary")
"""Categories that are asked only where the memory is told of sessions."""
Difficulty = Literal["easy", "medium", "hard"]
DIFFICULTIES: tuple[Difficulty, ...] = get_args(Difficulty)
Disclosure = Literal["refuse", "partial", "answer"]


class BenchQuestion(Written):
    """One graded question. It can be asked once all of its days are over, up to the day `irrelevant_after`.

    It is asked in `query_session`; what was said in `forbidden_sessions` must not come out there, and
    `expected_disclosure` says what is right instead.
    """

    id: Annotated[str, Field(min_length=1, max_length=200)]
    question: Text
    answer: Text
    category: Category
    difficulty: Difficulty
    relevant_days: Annotated[tuple[Day, ...], Field(min_length=1)]
    requires_synthesis: bool = False
    query_session: Text | None = None
    forbidden_sessions: tuple[Text, ...] = ()
    expected_disclosure: Disclosure | None = None
    irrelevant_after: Day | None = None

    @property
    def asked_in(self) -> str:
        """The session in which it is asked."""
        return self.query_session or PRINCIPAL

    def is_eligible(self, day: int) -> bool:
        """Whether it can be asked at the end of a day."""
        return max(self.relevant_days) <= day and (self.irrelevant_after is None or day <= self.irrelevant_after)


def eligible(questions: Sequence[BenchQuestion], day: int, groups: bool = True) -> list[BenchQuestion]:
    """Return the questions that can be asked at the end of a day; with `groups`, those of sessions too."""
    return [one for one in questions if one.is_eligible(day) and (groups or one.category not in GROUP_CATEGORIES)]
