"""Questions and stories of the long-horizon tests."""

from __future__ import annotations

from typing import Any

from pytest_recall.horizon.evaluation import CheckpointTrial, Points, checkpoint_trial
from pytest_recall.horizon.question import BenchQuestion


def question(id: str, *days: int, category: str = "factual-recall", **more: Any) -> BenchQuestion:
    """Return a question whose answer is in these days."""
    plain = {
        "question": f"What of {id}?",
        "answer": f"This of {id}.",
        "difficulty": "easy",
        "requires_synthesis": False,
    }
    return BenchQuestion.model_validate(
        {**plain, "id": id, "category": category, "relevant_days": list(days or (1,)), **more}
    )


def evaluation(asked: BenchQuestion, *points: int, **more: Any) -> CheckpointTrial:
    """Return an evaluation with these points, or without any."""
    given: dict[str, Any] = {"timestamp": "2026-01-01T00:00:00.000Z", "persona": "assistant", "answer": "This."}
    if points:
        correctness, completeness, hallucination = points
        given["points"] = Points(correctness, completeness, hallucination)
    return checkpoint_trial(**{**given, **more}, question=asked)
