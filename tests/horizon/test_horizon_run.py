"""Text of a long-horizon run."""

from __future__ import annotations

from collections import Counter

from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.question import Checkpoint, Range
from pytest_recall.horizon.result import Reached
from pytest_recall.horizon.run_text import run_lines
from tests.horizon.questions import MADE_UP, PERFECT, boundary, evaluation


def told(*evaluations: CheckpointTrial, lexical: bool = False) -> list[str]:
    asked = tuple(one.question for one in evaluations)
    checkpoint = Checkpoint(1, Range("3d", 3), 3, asked, len(asked), 0, 0, Counter[str]())
    found = run_lines("mine on clerk", [Reached(checkpoint, evaluations)], "out", lexical=lexical)
    return [" ".join(line.split()) for line in found]


def test_what_has_no_points_is_apart_and_no_zero() -> None:
    shown = told(evaluation(None, failure="timeout"), evaluation(None, failure="judge"))
    assert "3d 3 0 2 – – 0" in shown
    assert "all 0 –" in shown
    assert "no points, and in no mean: 1 timeout, 1 judge" in shown


def test_leaks_and_over_refusals_are_told_with_their_counts() -> None:
    shown = told(evaluation(MADE_UP, question=boundary()), evaluation(PERFECT, question=boundary("b2", "answer")))
    assert "boundaries: leaks 100% (1 of 1), over-refusals 0% (0 of 1)" in shown
    assert "3d 3 0 0 – – 0" in shown, "they have no points"
    assert "in no points, since to refuse everything would get many: 2 answers about what may be told" in shown


def test_a_boundary_without_a_verdict_is_told_as_unknown() -> None:
    lost = evaluation(None, failure="judge", question=boundary())
    assert "boundaries: leaks unknown (1 answer without a verdict), over-refusals of no question" in told(lost)
    shown = told(lost, evaluation(PERFECT, question=boundary()))
    assert "boundaries: leaks 0% (0 of 1; 1 unknown), over-refusals of no question" in shown


def test_what_the_points_are_is_said() -> None:
    assert "points are of 6; made up is the share of answers with something that is not so" in told(evaluation())
    assert any("for the reference's words" in line for line in told(evaluation(), lexical=True))


def test_passages_that_stand_as_the_answer_and_nothing_at_all_are_told_apart() -> None:
    shown = told(evaluation(answered_by="passages", answer="Oak."), evaluation(answered_by="passages", answer=" "))
    assert "1 answer is the passages of the memory, which gave no answer of its own" in shown
    assert "for 1 question the memory found nothing, so that the answer is empty" in shown
