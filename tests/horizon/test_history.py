"""Histories: the questions of a run with what they came to, and which of them come first."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from pytest_recall.horizon.statistics import QuestionHistory, histories, pairing, report
from tests.helpers.horizon_runs import CLOSE, MADE_UP, RIGHT, SMALL, WRONG, Asked, Score, Stops, any_stops, run_of


def named(found: list[QuestionHistory]) -> dict[str, QuestionHistory]:
    return {one.id: one for one in found}


def test_a_question_is_followed_through_its_checkpoints() -> None:
    run = run_of(SMALL, judgeModel="azure:small", appellateJudgeModel="azure:large")
    third = named(histories(run))["q003"]
    assert [one.label for one in third.asked] == ["10d", "20d", "30d"]
    assert [one.kinds for one in third.asked] == [
        ("failing", "appealed"),
        ("no points", "too late"),
        ("passing", "all points", "appealed"),
    ]
    assert [one.judge for one in third.asked] == ["azure:large", "", "azure:large"]
    assert named(histories(run))["q001"].last.kinds == ("failing", "something made up", "appealed")


def test_no_points_come_first_and_then_the_fewest() -> None:
    assert [one.id for one in histories(run_of(SMALL))] == ["q003", "q001", "q002", "q004", "q005"]


def test_what_got_worse_comes_before_what_was_as_bad() -> None:
    before = run_of({10: [Asked(id="a", score=WRONG), Asked(id="b", score=RIGHT), Asked(id="c", score=None)]})
    now = run_of({10: [Asked(id="a", score=WRONG), Asked(id="b", score=CLOSE), Asked(id="c", score=RIGHT)]})
    found = histories(now, before)
    assert [(one.id, one.last.change) for one in found] == [("b", "worse"), ("a", "equal"), ("c", None)]


def test_no_points_come_before_what_got_worse() -> None:
    before = run_of({10: [Asked(id="a", score=RIGHT), Asked(id="b", score=None)]})
    now = run_of({10: [Asked(id="a", score=WRONG), Asked(id="b", score=None)]})
    assert [one.id for one in histories(now, before)] == ["b", "a"]


def test_leaks_and_refusals_are_told() -> None:
    boundary = "information-boundary"
    run = run_of(
        {
            10: [
                Asked(id="leak", score=MADE_UP, disclosure="refuse", category=boundary),
                Asked(id="kept", score=RIGHT, disclosure="refuse", category=boundary),
                Asked(id="shy", score=WRONG, disclosure="answer", answer="I do not know.", category=boundary),
            ]
        }
    )
    found = named(histories(run))
    assert "leaked" in found["leak"].last.kinds
    assert "withheld" in found["shy"].last.kinds
    assert not {"leaked", "withheld"} & set(found["kept"].last.kinds)


def test_passages_pass_by_what_they_give_away_and_what_they_withhold() -> None:
    def asked(id: str, expected: str, score: Score, answer: str) -> Asked:
        return Asked(id=id, score=score, answer=answer, disclosure=expected, category="information-boundary")

    run = run_of(
        {
            10: [
                asked("leak", "refuse", MADE_UP, "7,033"),
                asked("kept", "refuse", WRONG, "Oak."),
                asked("told", "answer", WRONG, "The reference of told."),
                asked("shy", "answer", WRONG, ""),
            ]
        }
    )
    (stop,) = run.stops
    passages = tuple(one.with_facts(answered_by="passages") for one in stop.evaluations)
    found = histories(replace(run, stops=(replace(stop, evaluations=passages, measured=False),)))
    assert {one.id: (one.last.kinds, one.last.points) for one in found} == {
        "leak": (("failing", "leaked"), None),
        "kept": (("passing",), None),
        "told": (("passing",), None),
        "shy": (("failing", "withheld"), None),
    }
    assert [one.id for one in found][:2] == ["leak", "shy"]


def test_what_was_not_measured_is_not_told() -> None:
    run = run_of({10: [Asked(id="a", score=MADE_UP)]})
    blind = replace(run, stops=tuple(replace(stop, measured=False) for stop in run.stops))
    assert histories(run)[0].last.kinds == ("failing", "something made up")
    assert histories(blind)[0].last.kinds == ("failing",)


def test_questions_of_several_personas_are_told_apart() -> None:
    one = run_of({10: [Asked(id="a", score=RIGHT)]})
    (stop,) = one.stops
    (asked,) = stop.evaluations
    other = replace(stop, persona="other", evaluations=(asked.with_facts(persona="other"),))
    assert [one.id for one in histories(replace(one, stops=(stop, other)))] == ["other/a", "someone/a"]


@given(any_stops())
def test_each_answer_is_there_once_and_counts_as_in_the_report(stops: Stops) -> None:
    run = run_of(stops)
    every = [asked for one in histories(run) for asked in one.asked]
    assert sorted(map(id, run.evaluations)) == sorted(id(asked.evaluation) for asked in every)
    found = report(run)
    failing = sum(asked.outcome == "failing" for asked in every)
    assert failing == round((found.everything.failing.value or 0) * found.everything.failing.n)
    assert sum(asked.outcome == "no points" for asked in every) == sum(found.failures.values())


@given(any_stops(), any_stops())
def test_changes_are_those_of_the_pairing(one: Stops, two: Stops) -> None:
    before, now = run_of(one), run_of(two)
    changes = [asked.change for found in histories(now, before) for asked in found.asked]
    both = pairing(before, now)
    assert (changes.count("better"), changes.count("worse")) == (both.better, both.worse)
    assert changes.count("equal") == both.pairs - both.better - both.worse
