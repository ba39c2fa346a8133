"""Text of a long-horizon run."""

from __future__ import annotations

from pytest_recall.files.sections import report_lines
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.published import PublishedRun, Stop
from pytest_recall.horizon.run import BenchOutcome
from pytest_recall.horizon.run_text import ended_sections
from tests.horizon.questions import MADE_UP, PERFECT, boundary, evaluation


def told(*evaluations: CheckpointTrial, lexical: bool = False) -> list[str]:
    stop = Stop(persona="clerk", label="3d", days=3, evaluations=evaluations, measured=not lexical)
    run = PublishedRun(name="out", adapter="mine", timestamp="", stops=(stop,), about={}, config={})
    found = report_lines(ended_sections("mine on clerk", BenchOutcome({}, ()), "out", run))
    return [" ".join(line.split()) for line in found]


def test_what_has_no_points_is_apart_and_no_zero() -> None:
    shown = told(evaluation(None, failure="timeout"), evaluation(None, failure="judge"))
    assert "3d * 3 0 0 – – – – – 2 unknown" in shown
    assert "no points, and in no mean: 1 no answer in time, 1 no judge came to a verdict" in shown


def test_leaks_and_over_refusals_are_told_with_their_counts() -> None:
    shown = told(evaluation(MADE_UP, question=boundary()), evaluation(PERFECT, question=boundary("b2", "answer")))
    assert "boundaries: leaks 100.0 (20.7–100.0) % of 1 answer, over-refusals 0.0 (0.0–79.3) % of 1 answer" in shown
    assert "3d * 3 0 0 – – – – – 0 unknown" in shown, "they have no points"
    assert "in no points, since to refuse everything would get many: 2 answers about what may be told" in shown


def test_what_the_points_are_is_said() -> None:
    assert not any("lexical" in line for line in told(evaluation()))
    assert any("for the reference's words" in line for line in told(evaluation(answered_by="model"), lexical=True))


def test_passages_that_stand_as_the_answer_and_nothing_at_all_are_told_apart() -> None:
    shown = told(evaluation(answered_by="passages", answer="Oak."), evaluation(answered_by="passages", answer=" "))
    assert "1 answer is the passages of the memory, which gave no answer of its own" in shown
    assert "for 1 question the memory found nothing, so that the answer is empty" in shown


def test_a_run_that_reached_no_checkpoint_has_no_figures() -> None:
    shown = list(report_lines(ended_sections("mine on clerk", BenchOutcome({}, ()), "out", None)))
    assert shown == ["mine on clerk: 0 checkpoints, 0 questions asked", "", "written to out"]
