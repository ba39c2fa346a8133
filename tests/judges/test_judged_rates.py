"""How many answers judging models pass, and when their errors are taken out."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_recall.judges.calibration import Calibration, JudgeKey
from pytest_recall.judges.judged_rates import JudgedRate, judged_rates
from pytest_recall.judges.judges_text import MAX_RATES, rates_json, rates_lines
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.metrics.rectified import rectified
from pytest_recall.trials.record import settings_of
from pytest_recall.trials.trial import Judgement, Outcome, Trial, Verdict, Vote
from tests.helpers.samples import ERROR, FAILED, PASSED, trial

KEY = JudgeKey("rubric", "m", "v1")
LABELS = Confusion(right_passes=55, false_passes=12, right_fails=45, false_fails=8)
KNOWN = {KEY: Calibration(0.66, 120, 0.5, LABELS)}


def verdict(passed: bool, judge: str = "rubric", model: str = "m", version: str = "v1", **more: Any) -> Verdict:
    """Return the verdict of a model."""
    judgement = Judgement((Vote(model=model, passed=passed),), **more)
    return Verdict(passed=passed, judge=judge, model=model, version=version, judgement=judgement)


def judged(passed: int, of: int, **more: Any) -> list[Trial]:
    """Return trials of as many cases, of which the judge passes the first so many."""
    return [
        trial(f"c{n}", PASSED if n < passed else FAILED, verdicts=(verdict(n < passed, **more),)) for n in range(of)
    ]


def only(found: tuple[JudgedRate, ...]) -> JudgedRate:
    """Return the only rate."""
    (one,) = found
    return one


def text(found: tuple[JudgedRate, ...]) -> list[str]:
    """Return what is said of the rates."""
    return list(rates_lines(found))


def test_a_rate_with_the_errors_taken_out() -> None:
    found = judged_rates(judged(61, 100), KNOWN)
    one = only(found)
    assert (one.answers, one.passed, one.rate, one.why, one.differs) == (100, 61, 0.61, "", False)
    assert one.rectified == rectified(61, 100, LABELS)
    assert text(found) == [
        "judge rubric, m, version v1 passes 61.0 % of 100 answers; with its errors taken out"
        " 57.7 % (95 %: 45.1 to 69.4 %), from 120 labels"
    ]


def test_answers_of_a_group_may_be_alike() -> None:
    """Ten questions at ten checkpoints, each with the same verdict at all of them."""
    said = [trial(f"{stop}d/q{n}", verdicts=(verdict(n < 6),)) for stop in range(10) for n in range(10)]
    one = only(judged_rates(said, KNOWN, group_of=lambda trial: trial.case_id.partition("/")[2]))
    alone = only(judged_rates(said, KNOWN))
    assert (one.answers, one.passed, one.groups, alone.groups) == (100, 60, 10, None)
    assert one.rectified is not None
    assert alone.rectified is not None
    assert one.rectified.value == alone.rectified.value
    assert one.rectified.interval[0] < alone.rectified.interval[0] < alone.rectified.interval[1]
    assert alone.rectified.interval[1] < one.rectified.interval[1]
    assert text((one,)) == [
        "judge rubric, m, version v1 passes 60.0 % of 100 answers; with its errors taken out"
        " 56.7 % (95 %: 22.4 to 83.8 %, cluster-robust over 10 groups), from 120 labels"
    ]
    # Ten verdicts are too few to show that the judge passes another share of the labelled answers.
    more = [trial(f"{stop}d/q{n}", verdicts=(verdict(n < 9),)) for stop in range(10) for n in range(10)]
    assert only(judged_rates(more, KNOWN)).differs
    assert not only(judged_rates(more, KNOWN, group_of=lambda trial: trial.case_id.partition("/")[2])).differs


def test_another_level() -> None:
    one = only(judged_rates(judged(61, 100), KNOWN, confidence=0.99))
    assert one.rectified == rectified(61, 100, LABELS, 0.99)
    assert "(99 %: 4" in next(rates_lines([one], "99 %"))


def test_labels_of_another_mix_are_said_to_be() -> None:
    (told,) = text(judged_rates(judged(95, 100), KNOWN))
    assert told.endswith(", from 120 labels; of the labelled answers it passes 55.8 %, so they may not represent these")


def test_nothing_is_said_where_no_model_judged() -> None:
    assert judged_rates([trial("a"), trial("b", FAILED)], KNOWN) == ()
    assert text(()) == []


@pytest.mark.parametrize(
    ("known", "why"),
    [
        ({}, "no labels"),
        ({KEY: Calibration(0.8, 90)}, "its calibration has no counts; `recall judges calibrate --write` adds them"),
        ({KEY: Calibration(0.8, 12, labels=Confusion(6, 0, 6, 0))}, "12 labels, 30 are the least"),
        ({KEY: Calibration(0.8, 90, labels=Confusion(90, 0, 0, 0))}, "90 labels, and none of them is a fail"),
        (
            {KEY: Calibration(0.66, 120, labels=LABELS, threshold=0.7)},
            "the threshold is its own, and was 0.7 for the labels",
        ),
        ({KEY._replace(version="v0"): Calibration(0.66, 120, labels=LABELS)}, "no labels"),
        ({KEY._replace(model="n"): Calibration(0.66, 120, labels=LABELS)}, "no labels"),
    ],
)
def test_a_rate_that_is_not_corrected_says_why(known: dict[JudgeKey, Calibration], why: str) -> None:
    found = judged_rates(judged(3, 4), known)
    one = only(found)
    assert (one.rectified, one.why) == (None, why)
    assert text(found) == [f"not corrected for a judge's errors: rubric, m ({why})"]


def test_a_threshold_has_to_be_that_of_the_labels() -> None:
    at = settings_of(rubric={"thresholds": {"rubric": 0.7}})
    held = {KEY: KNOWN[KEY]._replace(threshold=0.7)}
    assert only(judged_rates(judged(3, 4), KNOWN, at)).why == "the threshold is 0.7, and was its own for the labels"
    assert only(judged_rates(judged(3, 4), held, at)).rectified is not None


def test_a_judge_with_appeals_is_corrected_by_labels_of_both_together() -> None:
    """A verdict names the one that had the last word: by that alone, one judge would have passed all, one none."""
    appeal = Vote(model="high", passed=False)
    last_word = replace(verdict(False, appeal=appeal, cause="failed"), model="high")
    fails = [trial(f"f{n}", FAILED, verdicts=(last_word,)) for n in range(40)]
    at = settings_of(rubric={"judge": {"appellate": "high"}})
    both = KEY._replace(model="m, appeals to high")
    known = {
        **KNOWN,
        KEY._replace(model="high"): KNOWN[KEY],
        both: KNOWN[KEY],
    }
    one = only(judged_rates([*judged(60, 60), *fails], known, at))
    assert (one.judge, one.answers, one.passed) == (both, 100, 60)
    assert one.rectified == rectified(60, 100, LABELS)


def test_an_answer_is_the_first_of_its_case_that_came_to_a_verdict() -> None:
    """Whether a case is asked again depends on the first verdict, so that all of them would be a sample by it."""

    def again(case_id: str, *outcomes: Outcome) -> list[Trial]:
        return [
            trial(
                case_id,
                outcome,
                repeat=n,
                rule="fail 2of3",
                verdicts=(verdict(outcome is PASSED),) if outcome.is_verdict else (),
            )
            for n, outcome in enumerate(outcomes, 1)
        ]

    trials = [*again("a", FAILED, PASSED, PASSED), *again("b", PASSED), *again("c", ERROR, FAILED, FAILED)]
    one = only(judged_rates(trials, KNOWN))
    assert (one.answers, one.passed) == (3, 1)


def test_a_baseline_is_not_the_agent() -> None:
    trials = [*judged(2, 2), *(one._replace(arm="no-memory") for one in judged(0, 5))]
    assert only(judged_rates(trials, KNOWN)).answers == 2


def test_a_judge_that_is_named_twice_by_a_case_has_one_answer_of_it() -> None:
    twice = trial(
        verdicts=(verdict(True), verdict(False), verdict(True, version="v2"), Verdict(passed=True, judge="exact"))
    )
    found = judged_rates([twice], KNOWN)
    assert [(one.judge.version, one.answers, one.passed) for one in found] == [("v1", 1, 1), ("v2", 1, 1)]


def test_many_judges_are_told_in_a_few_lines() -> None:
    versions = [f"v{n}" for n in range(6)]
    trials = [
        trial(f"{version}-{n}", verdicts=(verdict(True, version=version),)) for version in versions for n in range(3)
    ]
    known = {KEY._replace(version=version): KNOWN[KEY] for version in versions}
    told = text(judged_rates(trials, known))
    assert len(told) == MAX_RATES + 1
    assert told[-1] == "3 more judges have such a rate, which --json lists"
    assert text(judged_rates(trials, {})) == ["not corrected for a judge's errors: rubric, m (no labels)"]
    models = [trial(f"{n}", verdicts=(verdict(True, model=f"m{n}"),)) for n in range(6)]
    assert text(judged_rates(models, {})) == [
        "not corrected for a judge's errors: rubric, m0 (no labels), rubric, m1 (no labels), rubric, m2 (no labels)"
        " and 3 more"
    ]


def test_json() -> None:
    other = [
        trial("x", verdicts=(verdict(True, model="n"),)),
        trial("y", FAILED, verdicts=(verdict(False, model="n"),)),
    ]
    found = judged_rates([*judged(61, 100), *other], KNOWN)
    plain = rates_json(found)
    assert json.loads(json.dumps(plain)) == plain
    assert plain[1] == {
        **KEY._replace(model="n")._asdict(),
        "answers": 2,
        "groups": None,
        "passed": 1,
        "rate": 0.5,
        "corrected": None,
        "interval": None,
        "labels": None,
        "not_corrected": "no labels",
        "labels_differ": False,
    }
    assert plain[0]["labels"] == {"n": 120, **LABELS._asdict()}
    assert plain[0]["corrected"] == pytest.approx(0.61 - 4 / 120)
