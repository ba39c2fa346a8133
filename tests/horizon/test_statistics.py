"""Statistics of a run: who is counted, who is not, and what two runs have in common."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from pytest_recall.horizon.disclosure import HitRate, boundaries
from pytest_recall.horizon.evaluation import TIMED_OUT
from pytest_recall.horizon.report_text import run_sections
from pytest_recall.horizon.statistics import FEW, Appeals, Repeatability, pairing, report
from tests.helpers.horizon_runs import CLOSE, MADE_UP, RIGHT, SMALL, WRONG, Asked, Stops, any_stops, run_of


@given(any_stops())
def test_the_mean_is_of_all_answers_with_points(stops: Stops) -> None:
    points = [sum(one.score) for asked in stops.values() for one in asked if one.score is not None]
    found = report(run_of(stops))
    assert found.everything.points.n == len(points) == sum(one.points.n for one in found.categories.values())
    assert found.everything.points.value == (pytest.approx(sum(points) / len(points)) if points else None)
    assert sum(found.failures.values()) == sum(one.score is None for asked in stops.values() for one in asked)


def test_a_report_says_what_there_is() -> None:
    found = report(run_of(SMALL))
    every = found.everything
    assert (every.points.n, every.points.clusters) == (10, 5)
    assert every.points.value == pytest.approx((6 + 4 + 1 + 4 + 4 + 6 + 2 + 6 + 6 + 6) / 10)
    assert every.hallucination.value == pytest.approx(0.1)
    assert every.recall.value == pytest.approx((5 + 3 + 0 + 3 + 3 + 5 + 2 + 5 + 5 + 5) / 50)
    assert (every.perfect.value, every.failing.value) == pytest.approx((0.5, 0.2))
    assert list(found.categories) == ["factual-recall", "temporal-reasoning", "synthesis", "negative-recall"]
    assert [(label, days) for _, label, days, _ in found.stops] == [("10d", 10), ("20d", 20), ("30d", 30)]
    assert found.quartiles is None  # of three checkpoints
    assert dict(found.failures) == {"timeout": 1}
    assert found.appeals == Appeals(asked=3, known=3, raised=2, lowered=1, overturned=1, flipped=2)
    assert found.disclosures is None


def test_answers_that_never_came_and_checkpoints_without_answers_are_told() -> None:
    run = run_of({10: [Asked(id="a", score=RIGHT)]})
    late = run.stops[0].evaluations[0].with_facts(answer=TIMED_OUT)
    stops = (replace(run.stops[0], evaluations=(late,)),)
    one = report(replace(run, stops=stops))._replace(hollow=("20d", "30d"))
    assert list(run_sections(run, one))[1].lines == [
        "not in it, since no file holds their answers: the checkpoints 20d, 30d",
        "1 answer never came, and was judged like an answer by the program that ran it; the means have it so",
    ]


def test_few_questions_are_few_however_often_they_are_asked() -> None:
    asked = [Asked(id=f"q{n}", score=RIGHT) for n in range(FEW)]
    assert not report(run_of({10: asked})).everything.few
    assert report(run_of(dict.fromkeys(range(1, 20), asked[1:]))).everything.few


def test_questions_that_come_later_and_are_harder_are_no_slope() -> None:
    easy, hard = [Asked(id="a", score=RIGHT)], [Asked(id="b", score=WRONG)]
    found = report(run_of({100: easy, 200: [*easy, *hard], 300: hard}))
    assert (found.slope.value, found.slope.clusters) == (0, 2)


def test_a_slope_is_for_a_hundred_days() -> None:
    found = report(run_of({100: [Asked(id="a", score=RIGHT)], 300: [Asked(id="a", score=MADE_UP)]}))
    assert (found.slope.value, found.hallucination_slope.value) == pytest.approx((-2, 0.5))


def test_the_same_answer_judged_twice_is_compared_with_itself() -> None:
    def stop(first: tuple[int, int, int], second: str) -> list[Asked]:
        return [Asked(id="a", score=first), Asked(id="b", score=RIGHT, answer=second)]

    found = report(run_of({1: stop(RIGHT, "x"), 2: stop(CLOSE, "y"), 3: stop(MADE_UP, "y"), 4: []}))
    assert found.repeatability == Repeatability(groups=2, points_differ=1, hallucination_differs=1)


def test_answers_that_never_came_and_were_judged_are_told() -> None:
    found = report(run_of({1: [Asked(id="a", score=WRONG, answer=TIMED_OUT), Asked(id="b", score=RIGHT)]}))
    assert found.timed_out == 1


def test_leaks_and_over_refusals_are_those_that_a_run_tells() -> None:
    def boundary(id: str, expected: str | None, score: tuple[int, int, int], answer: str = "It was 42.") -> Asked:
        return Asked(id=id, score=score, category="information-boundary", disclosure=expected, answer=answer)

    asked = [
        boundary("a", "refuse", RIGHT),
        boundary("b", "refuse", MADE_UP),
        boundary("c", "answer", WRONG, "I cannot share that."),
        boundary("h", "answer", MADE_UP),
        boundary("d", "answer", RIGHT),
        boundary("e", "partial", MADE_UP),
        boundary("f", "refuse", RIGHT),
        boundary("g", "refuse", RIGHT),
    ]
    run = run_of({1: asked})
    found, told = report(run).disclosures, boundaries(run.evaluations, measured=True)
    assert found is not None
    assert told is not None
    assert (found.leak.value, found.leak.n) == (told.leaks.value, told.leaks.n) == (0.25, 4)
    assert (found.over_refusal.value, found.over_refusal.n) == (told.over_refusals.value, told.over_refusals.n)
    assert told.over_refusals == HitRate(1, 3)  # what is made up and no refusal is wrong, and no more


def test_two_runs_are_compared_on_what_both_were_asked() -> None:
    first = run_of({10: [Asked(id="a", score=WRONG), Asked(id="b", score=RIGHT)], 20: [Asked(id="c", score=RIGHT)]})
    second = run_of(
        {
            10: [Asked(id="a", score=RIGHT), Asked(id="b", score=None)],
            20: [Asked(id="a", score=RIGHT)],
            30: [Asked(id="c", score=WRONG), Asked(id="d", score=WRONG)],
        }
    )
    found = pairing(first, second)
    assert (found.pairs, found.questions, found.points.value) == (1, 1, 5)
    assert (found.better, found.worse, found.changed, found.apart) == (1, 0, 0, 1)


def test_a_question_that_was_written_anew_is_another_one() -> None:
    first = run_of({10: [Asked(id="a", score=WRONG), Asked(id="b", score=RIGHT)]})
    stop = first.stops[0]
    one = stop.evaluations[0]
    other = replace(one, question=one.question.model_copy(update={"answer": "Another reference."}))
    second = replace(first, stops=(replace(stop, evaluations=(other, stop.evaluations[1])),))
    found = pairing(first, second)
    assert (found.pairs, found.changed, found.points.value) == (1, 1, 0)


@given(any_stops(), any_stops())
def test_the_other_way_round_is_the_opposite(one: Stops, two: Stops) -> None:
    there, back = pairing(run_of(one), run_of(two)), pairing(run_of(two), run_of(one))
    assert (there.pairs, there.better, there.worse) == (back.pairs, back.worse, back.better)
    if there.points.value is not None and back.points.value is not None:
        assert there.points.value == pytest.approx(-back.points.value)
