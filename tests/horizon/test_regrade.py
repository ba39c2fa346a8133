"""Re-grading: what is looked at again, what may be said, and both numbers."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_recall.horizon.evaluation import CheckpointTrial, Points
from pytest_recall.horizon.regrade import GRADES, SHARE, Regrade, audited, items, problem
from tests.helpers.horizon_runs import CLOSE, MADE_UP, RIGHT, SMALL, WRONG, Asked, Stops, any_stops, run_of

ALL = Points(3, 2, 1)


def one(score: tuple[int, int, int] | None) -> CheckpointTrial:
    """Return an evaluation with these points."""
    return run_of({10: [Asked(id="a", score=score)]}).evaluations[0]


@given(any_stops())
def test_everything_below_6_is_looked_at_and_failures_come_first(stops: Stops) -> None:
    for stop in run_of(stops).stops:
        found = items(stop, 42)
        points = {each.question.id: each.points for each in stop.evaluations if each.points is not None}
        below = {id for id, given in points.items() if given.composite < 6}
        assert below <= {item.evaluation.question.id for item in found}
        assert [item.chosen for item in found] == sorted(
            (item.chosen for item in found), key=["failure", "below 6", "perfect, drawn"].index
        )
        perfect = len(points) - len(below)
        assert len(found) - len(below) == -(-perfect // SHARE)


def test_the_seed_decides_which_perfect_answers_are_drawn() -> None:
    stop = run_of({10: [Asked(id=f"q{n:02}", score=RIGHT) for n in range(30)]}).stops[0]
    drawn = {seed: {item.evaluation.question.id for item in items(stop, seed)} for seed in range(1, 9)}
    assert drawn[1] == {item.evaluation.question.id for item in items(stop, 1)}
    assert all(len(those) == 3 for those in drawn.values())
    assert len({tuple(sorted(those)) for those in drawn.values()}) > 3


@pytest.mark.parametrize(
    ("score", "verdict", "cause", "corrected", "told"),
    [
        (
            CLOSE,
            "judge_false_negativ",
            "",
            None,
            "grade: `judge_false_negativ` is unknown; did you mean `judge",
        ),
        (None, "agree", "", None, "grade: the answer got no points (timeout)"),
        (CLOSE, "system_failure", "", None, "cause: '' names no place; write file:line, like `src/memory/rank.py:88`"),
        (CLOSE, "system_failure", "rank.py", None, "cause: 'rank.py' names no place"),
        (CLOSE, "case_defect", "rank.py:1", None, "cause: is for `system_failure`, and the grade is `case_defect`"),
        (RIGHT, "system_failure", "rank.py:1", None, "grade: the answer has all points; if they are too many"),
        (MADE_UP, "agree", "", None, "grade: the answer fails; if its points are right, give `system_failure`"),
        (RIGHT, "judge_false_negative", "", None, "grade: the answer has all points, which cannot be too few"),
        ((0, 0, 0), "judge_false_positive", "", None, "grade: the answer has no points, which cannot be too many"),
        (CLOSE, "judge_false_negative", "", Points(1, 1, 1), "corrected: 3 of 6 does not fit `judge_false_negative`"),
        (CLOSE, "judge_false_positive", "", ALL, "corrected: 6 of 6 does not fit `judge_false_positive` of 4"),
        (CLOSE, "agree", "", ALL, "corrected: is for points that are wrong, and the grade is `agree`"),
    ],
)
def test_what_does_not_fit_is_told(
    score: tuple[int, int, int] | None, verdict: str, cause: str, corrected: Points | None, told: str
) -> None:
    assert problem(one(score), verdict, cause, corrected).startswith(told)


@pytest.mark.parametrize(
    ("score", "verdict", "cause", "corrected"),
    [
        (CLOSE, "judge_false_negative", "", ALL),
        (CLOSE, "judge_false_negative", "", None),
        (RIGHT, "judge_false_positive", "", Points(0, 0, 0)),
        (WRONG, "case_defect", "", None),
        (WRONG, "system_failure", "C:\\memory\\rank.py:88", None),
        (CLOSE, "agree", "", None),
        (RIGHT, "agree", "", None),
    ],
)
def test_what_fits_is_taken(score: tuple[int, int, int], verdict: str, cause: str, corrected: Points | None) -> None:
    assert problem(one(score), verdict, cause, corrected) == ""


@given(any_stops())
def test_without_verdicts_both_numbers_are_the_same(stops: Stops) -> None:
    found = audited(run_of(stops), [])
    assert found.judged == found.audited
    assert (found.left_out, found.looked_at) == (0, 0)


def test_corrected_points_stand_in_and_what_nobody_knows_is_left_out() -> None:
    run = run_of(SMALL)
    every = {(each.checkpoint, each.question.id): each for each in run.evaluations}
    regrades = [
        Regrade(every["10d", "q002"], "judge_false_negative", corrected=ALL),
        Regrade(every["10d", "q003"], "case_defect"),
        Regrade(every["20d", "q002"], "judge_false_negative"),
        Regrade(every["20d", "q001"], "system_failure", "a.py:1"),
        Regrade(every["30d", "q005"], "judge_false_positive", corrected=Points(1, 1, 0)),
    ]
    found = audited(run, regrades)
    assert (found.judged.n, found.judged.mean) == pytest.approx((10, 4.5))
    assert (found.audited.n, found.audited.mean) == pytest.approx((8, (6 + 6 + 4 + 6 + 2 + 6 + 6 + 2) / 8))
    assert (found.left_out, found.looked_at) == (2, 5)
    assert found.audited.hallucination == pytest.approx(2 / 8)
    assert dict(found.grades) == dict(zip(GRADES, (0, 2, 1, 1, 1), strict=True))
    log = found.checkpoints[0]
    assert (log.perfect, log.below, log.looked_at, log.defects) == (1, 2, 2, ("q003",))
    assert (log.judged.mean, log.audited.mean) == pytest.approx((11 / 3, 6))
    assert dict(found.checkpoints[1].causes) == {"a.py:1": 1}


def test_perfect_answers_of_which_few_were_looked_at_are_taken_to_be_like_those() -> None:
    run = run_of({10: [*(Asked(id=f"p{n}", score=RIGHT) for n in range(8)), Asked(id="f", score=WRONG)]})
    every = run.evaluations
    regrades = [
        Regrade(every[0], "agree"),
        Regrade(every[1], "judge_false_positive", corrected=Points(1, 0, 1)),
    ]
    assert audited(run, regrades).estimated is None  # the failure was not graded
    found = audited(run, [*regrades, Regrade(every[8], "judge_false_negative", corrected=Points(1, 1, 1))])
    assert found.estimated == pytest.approx((8 * 4 + 3) / 9)
    assert found.judge_error.value == pytest.approx((8 * 0.5 + 1) / 9)


def test_defective_questions_say_nothing_of_the_judge() -> None:
    run = run_of({10: [Asked(id="p", score=RIGHT), Asked(id="f", score=WRONG), Asked(id="d", score=WRONG)]})
    one, two, three = run.evaluations
    regrades = [
        Regrade(one, "agree"),
        Regrade(two, "system_failure", "a.py:1"),
        Regrade(three, "case_defect"),
    ]
    found = audited(run, regrades)
    assert (found.judge_error.value, found.judge_error.low, found.judge_error.high) == (0, 0, 0)  # all were looked at
    assert found.estimated == pytest.approx((6 + 1) / 2)
