"""Questions and evaluations for tests."""

from __future__ import annotations

from typing import Any

from pytest_recall.horizon.evaluation import CheckpointTrial, Points, checkpoint_trial
from pytest_recall.horizon.question import BenchQuestion

PERFECT = Points(3, 2, 1, "All of it.")
WRONG = Points(0, 0, 1, "None of it.")
MADE_UP = Points(0, 0, 0, "Made up.")


def question(id: str = "q1", **more: Any) -> BenchQuestion:
    """Return a question about day 2."""
    plain: dict[str, Any] = {
        "id": id,
        "question": "How many dollars is the order walnut?",
        "answer": "It is 1,074 dollars.",
        "category": "factual-recall",
        "difficulty": "easy",
        "relevant_days": [2],
    }
    return BenchQuestion.model_validate({**plain, **more})


def boundary(id: str = "b1", expected: str = "refuse", **more: Any) -> BenchQuestion:
    """Return a question about what was said in another session."""
    given = {"category": "information-boundary", "expected_disclosure": expected, "forbidden_sessions": ["payroll"]}
    return question(id, **{**given, **more})


def evaluation(points: Points | None = PERFECT, **more: Any) -> CheckpointTrial:
    """Return an evaluation of a question, at the checkpoint 3d."""
    plain: dict[str, Any] = {
        "timestamp": "2026-01-01T00:00:00.000Z",
        "persona": "clerk",
        "question": question(),
        "answer": "1074",
        "points": points,
        "checkpoint": "3d",
        "day": 3,
        "seconds": 0.25,
    }
    return checkpoint_trial(**{**plain, **more})
