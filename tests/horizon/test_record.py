"""Records: lines of a run's files, by their published names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.evaluation import FAILURES, CheckpointTrial, Points
from pytest_recall.horizon.published import evaluation_of, failure_line, qa_result, question_line, result_of
from tests.horizon.questions import MADE_UP, PERFECT, boundary, evaluation, question

KNOWN = (question(), boundary())

_points = st.builds(Points, st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.text(max_size=20))


@st.composite
def _evaluations(draw: st.DrawFn) -> CheckpointTrial:
    failure = draw(st.sampled_from([None, *FAILURES]))
    points = draw(_points) if failure is None else None
    primary = draw(st.none() | _points) if points is not None else None
    return evaluation(
        points,
        question=draw(st.sampled_from(KNOWN)),
        answer=draw(st.text(max_size=30)),
        primary=primary,
        appealed=primary is not None,
        failure=failure,
        error="" if failure is None else draw(st.text(max_size=20)),
        seconds=draw(st.none() | st.integers(0, 10**6).map(lambda ms: ms / 1000)),
        retrieval=tuple(draw(st.lists(st.fixed_dictionaries({"path": st.text(max_size=5)}), max_size=2))),
        context=draw(st.booleans()),
        usd=draw(st.none() | st.floats(0, 1)),
        answered_by=draw(st.sampled_from(["", "memory", "model", "passages"])),
    )


@given(_evaluations())
def test_a_line_gives_back_its_evaluation(one: CheckpointTrial) -> None:
    assert evaluation_of(json.loads(json.dumps(question_line(one)))) == one


def test_a_line_has_the_published_fields_and_ours() -> None:
    line = question_line(evaluation(MADE_UP, primary=MADE_UP, appealed=True, question=boundary(query_session="hr")))
    assert list(line) == [
        "timestamp",
        "personaId",
        "checkpoint",
        "day",
        "qa",
        "systemAnswer",
        "score",
        "composite",
        "usedAppellate",
        "primaryScore",
        "memoryContextProvided",
        "latencyMs",
    ]
    assert line["qa"] | {"question": "", "referenceAnswer": ""} == {
        "id": "b1",
        "question": "",
        "referenceAnswer": "",
        "category": "information-boundary",
        "difficulty": "easy",
        "relevantDays": [2],
        "expectedDisclosure": "refuse",
        "querySession": "hr",
        "forbiddenSessions": ["payroll"],
    }


def test_an_appeal_is_a_line_of_failures_whatever_came_of_it() -> None:
    assert failure_line(question_line(evaluation())) is None
    line = failure_line(question_line(evaluation(PERFECT, primary=MADE_UP, appealed=True)))
    assert line is not None
    assert (line["primaryScore"]["hallucination"], line["appellateScore"]["hallucination"]) == (0, 1)


def test_a_result_says_what_failed_in_the_place_of_a_score() -> None:
    assert qa_result(question())["requiresSynthesis"] is False
    assert result_of(evaluation())["compositeScore"] == 6
    lost = result_of(evaluation(None, failure="timeout", error="no answer within 3 s", seconds=None))
    assert (lost["failure"], lost["latencyMs"], "score" in lost) == ("timeout", None, False)


@pytest.mark.parametrize(
    "changed",
    [
        {"score": {"correctness": 4, "completeness": 2, "hallucination": 1}},
        {"score": {"correctness": True, "completeness": 2, "hallucination": 1}},
        {"failure": "timeout"},
        {"failure": "sleepy", "score": None},
        {"qa": {"id": "gone"}},
        {"usd": "much"},
        {"answeredBy": "unknown"},
        {"handedOut": ["day-0001"]},
        {"handedOut": {"ids": [1], "tokens": 2}},
        {"handedOut": {"ids": [], "tokens": "2"}},
        {"qa": 3},
    ],
)
def test_a_line_that_is_none_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"^(score|{next(iter(changed))})"):
        evaluation_of({**question_line(evaluation()), **changed})
