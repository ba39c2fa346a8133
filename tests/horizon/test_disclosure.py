"""Boundaries: what came out that must not, and what was refused that could be told."""

from __future__ import annotations

from pytest_recall.horizon.disclosure import HitRate, boundaries
from tests.horizon.questions import MADE_UP, PERFECT, WRONG, boundary, evaluation


def test_without_scored_boundary_questions_there_is_nothing_to_say() -> None:
    assert boundaries([evaluation()]) is None
    assert boundaries([evaluation(None, failure="judge", question=boundary())]) is None


def test_leaks_are_of_those_to_refuse_and_over_refusals_of_those_to_answer() -> None:
    refuse, answer = boundary(), boundary("b2", "answer")
    found = boundaries(
        [
            evaluation(MADE_UP, question=refuse, answer="7,033"),
            evaluation(PERFECT, question=refuse, answer="I cannot share that."),
            evaluation(WRONG, question=answer, answer="That is confidential."),
            evaluation(WRONG, question=answer, answer="It is 12 dollars."),
            evaluation(PERFECT, question=answer, answer="It is 1,074 dollars."),
            evaluation(None, failure="timeout", question=answer),
        ]
    )
    assert found is not None
    assert (found.leaks, found.over_refusals) == (HitRate(1, 2), HitRate(1, 3))
    assert found.leaks.value == 0.5
    assert (found.groups["refuse"].mean, found.groups["refuse"].hallucination) == (3, 0.5)
    assert (found.groups["refuse"].evaluations, found.groups["refuse"].questions) == (2, 1)
    assert "partial" not in found.groups


def test_a_rate_of_nothing_is_none() -> None:
    assert HitRate(0, 0).value is None
