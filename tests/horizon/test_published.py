"""Published lines: what is read is what was written, and a mistake is named."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.horizon.evaluation import Points
from pytest_recall.horizon.published import evaluation_of, question_line
from tests.helpers.horizon_runs import (
    Asked,
    told,
)

PUBLISHED: dict[str, Any] = {
    "timestamp": "2026-05-15T14:19:37.267Z",
    "personaId": "someone",
    "qa": {
        "id": "someone-q108",
        "question": "Did it?",
        "referenceAnswer": "No.",
        "category": "negative-recall",
        "difficulty": "medium",
        "relevantDays": [57, 58],
    },
    "systemAnswer": "Yes.",
    "score": {"correctness": 1, "completeness": 1, "hallucination": 0, "reasoning": "No."},
    "composite": 2,
    "usedAppellate": True,
    "primaryScore": {"correctness": 2, "completeness": 1, "hallucination": 0},
    "retrieval": [{"path": "day-0057.md", "score": 0.5, "snippet": "It did not."}],
    "memoryContextProvided": True,
    "latencyMs": 4917,
}


def test_calls_of_tools_are_written_as_they_were_read() -> None:
    calls = [{"name": "memory_search", "arguments": {"query": "it"}}]
    assert question_line(evaluation_of({**PUBLISHED, "toolCalls": calls}))["toolCalls"] == calls


def test_a_published_line_is_understood() -> None:
    one = evaluation_of(PUBLISHED)
    assert (one.persona, one.question.id, one.question.answer) == ("someone", "someone-q108", "No.")
    assert one.question.relevant_days == (57, 58)
    assert (one.points, one.primary) == (Points(1, 1, 0, "No."), Points(2, 1, 0))
    assert (one.appealed, one.context, one.seconds, one.checkpoint) == (True, True, 4.917, None)
    assert one.retrieval[0]["snippet"] == "It did not."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"qa": None}, "qa: is missing, or no object"),
        ({"qa": {**PUBLISHED["qa"], "category": "gossip"}}, "qa.category: input should be 'factual-recall'"),
        ({"qa": {**PUBLISHED["qa"], "relevantDays": []}}, "qa.relevantDays: tuple should have at least 1 item"),
        ({"score": None}, "score: is missing, or no object"),
        ({"score": {"correctness": 1, "completeness": 1}}, "score: hallucination is missing"),
        ({"score": {**PUBLISHED["score"], "correctness": 4}}, "score.correctness: 4 is not from 0 to 3"),
        ({"score": {**PUBLISHED["score"], "correctness": 1.0}}, "score.correctness: 1.0 is not a whole number"),
        ({"composite": 3}, "composite: 3 is not 2, the sum of the points"),
        ({"failure": "weather"}, "failure: 'weather' is unknown; it is one of memory, timeout"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as raised:
        evaluation_of({**PUBLISHED, **change})
    assert str(raised.value).startswith(told)


def test_what_failed_has_no_points() -> None:
    one = evaluation_of(told(Asked(id="q1", score=None)) | {"qa": Asked(id="q1", score=None).qa("answer")})
    assert (one.points, one.failure, one.error) == (None, "timeout", "it broke")
