"""Points of an answer, and what published lines have of it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.horizon.evaluation import CUT, SNIPPET, Points
from pytest_recall.horizon.published import evaluation_of, question_line
from tests.horizon.questions import boundary, evaluation


@pytest.mark.parametrize(
    ("points", "fails"),
    [((3, 2, 1), False), ((2, 1, 1), False), ((1, 1, 1), True), ((3, 2, 0), True), ((0, 2, 1), True)],
)
def test_a_stronger_judge_is_asked_for_what_is_weak_wrong_or_made_up(points: tuple[int, int, int], fails: bool) -> None:
    assert Points(*points).fails is fails


def test_points_are_their_published_names() -> None:
    points = Points(3, 2, 1, "All of it.")

    assert points.to_json() == {"correctness": 3, "completeness": 2, "hallucination": 1, "reasoning": "All of it."}
    assert Points.from_json(points.to_json()) == points
    assert points.composite == 6


@pytest.mark.parametrize("value", [4, -1, 2.0, "3", True, None])
def test_what_is_no_point_is_refused(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="correctness"):
        Points.from_json({"correctness": value, "completeness": 2, "hallucination": 1})


def test_passages_that_stand_as_an_answer_are_written_in_part_unless_they_are_looked_through() -> None:
    long = "x" * 1000
    plain = evaluation(answer=long, answered_by="passages")
    assert plain.answer == "x" * SNIPPET + CUT
    assert evaluation_of(question_line(plain)).answer == plain.answer
    assert plain.with_facts(question=boundary(), answer=long).answer == long
    assert plain.with_facts(answer=long, answered_by="memory").answer == long
