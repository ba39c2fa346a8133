"""Re-grading: what is looked at again, what may be said, and both numbers."""

from __future__ import annotations

import pytest
from hypothesis import given

from pytest_recall.horizon.evaluation import CheckpointTrial, Points
from pytest_recall.horizon.regrade import SHARE, VERDICTS, Regrade, audited, items, problem
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
        assert [item.why for item in found] == sorted(
            (item.why for item in found), key=["failure", "below 6", "perfect, drawn"].index
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
            "judge-false-negativ",
            "",
            None,
            "verdict: `judge-false-negativ` is unknown; did you mean `judge",
        ),
        (None, "judge-right", "", None, "verdict: the answer got no points (timeout)"),
        (CLOSE, "system-failure", "", None, "cause: '' names no place; write file:line, like `src/memory/rank.py:88`"),
        (CLOSE, "system-failure", "rank.py", None, "cause: 'rank.py' names no place"),
        (CLOSE, "qa-defect", "rank.py:1", None, "cause: is for `system-failure`, and the verdict is `qa-defect`"),
        (RIGHT, "system-failure", "rank.py:1", None, "verdict: the answer has all points; if they are too many"),
        (MADE_UP, "judge-right", "", None, "verdict: the answer fails; if its points are right, say `system-failure`"),
        (RIGHT, "judge-false-negative", "", None, "verdict: the answer has all points, which cannot be too few"),
        ((0, 0, 0), "judge-false-positive", "", None, "verdict: the answer has no points, which cannot be too many"),
        (CLOSE, "judge-false-negative", "", Points(1, 1, 1), "corrected: 3 of 6 does not fit `judge-false-negative`"),
        (CLOSE, "judge-false-positive", "", ALL, "corrected: 6 of 6 does not fit `judge-false-positive` of 4"),
        (CLOSE, "judge-right", "", ALL, "corrected: is for points that are wrong, and the verdict is `judge-right`"),
    ],
)
def test_what_does_not_fit_is_told(
    score: tuple[int, int, int] | None, verdict: str, cause: str, corrected: Points | None, told: str
) -> None:
    assert problem(one(score), verdict, cause, corrected).startswith(told)


@pytest.mark.parametrize(
    ("score", "verdict", "cause", "corrected"),
    [
        (CLOSE, "judge-false-negative", "", ALL),
        (CLOSE, "judge-false-negative", "", None),
        (RIGHT, "judge-false-positive", "", Points(0, 0, 0)),
        (WRONG, "qa-defect", "", None),
        (WRONG, "system-failure", "C:\\memory\\rank.py:88", None),
        (CLOSE, "judge-right", "", None),
        (RIGHT, "judge-right", "", None),
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
        Regrade(every["10d", "q002"], "judge-false-negative", corrected=ALL),
        Regrade(every["10d", "q003"], "qa-defect"),
        Regrade(every["20d", "q002"], "judge-false-negative"),
        Regrade(every["20d", "q001"], "system-failure", "a.py:1"),
        Regrade(every["30d", "q005"], "judge-false-positive", corrected=Points(1, 1, 0)),
    ]
    found = audited(run, regrades)
    assert (found.judged.n, found.judged.mean) == pytest.approx((10, 4.5))
    assert (found.audited.n, found.audited.mean) == pytest.approx((8, (6 + 6 + 4 + 6 + 2 + 6 + 6 + 2) / 8))
    assert (found.left_out, found.looked_at) == (2, 5)
    assert found.audited.hallucination == pytest.approx(2 / 8)
    assert dict(found.verdicts) == dict(zip(VERDICTS, (2, 1, 1, 1, 0), strict=True))
    log = found.checkpoints[0]
    assert (log.perfect, log.below, log.looked_at, log.defects) == (1, 2, 2, ("q003",))
    assert (log.judged.mean, log.audited.mean) == pytest.approx((11 / 3, 6))
    assert dict(found.checkpoints[1].causes) == {"a.py:1": 1}


def test_perfect_answers_of_which_few_were_looked_at_are_taken_to_be_like_those() -> None:
    run = run_of({10: [*(Asked(id=f"p{n}", score=RIGHT) for n in range(8)), Asked(id="f", score=WRONG)]})
    every = run.evaluations
    regrades = [
        Regrade(every[0], "judge-right"),
        Regrade(every[1], "judge-false-positive", corrected=Points(1, 0, 1)),
    ]
    assert audited(run, regrades).estimated is None  # the failure was not graded
    found = audited(run, [*regrades, Regrade(every[8], "judge-false-negative", corrected=Points(1, 1, 1))])
    assert found.estimated == pytest.approx((8 * 4 + 3) / 9)
    assert found.judge_error.value == pytest.approx((8 * 0.5 + 1) / 9)


def test_defective_questions_say_nothing_of_the_judge() -> None:
    run = run_of({10: [Asked(id="p", score=RIGHT), Asked(id="f", score=WRONG), Asked(id="d", score=WRONG)]})
    one, two, three = run.evaluations
    regrades = [
        Regrade(one, "judge-right"),
        Regrade(two, "system-failure", "a.py:1"),
        Regrade(three, "qa-defect"),
    ]
    found = audited(run, regrades)
    assert (found.judge_error.value, found.judge_error.low, found.judge_error.high) == (0, 0, 0)  # all were looked at
    assert found.estimated == pytest.approx((6 + 1) / 2)
