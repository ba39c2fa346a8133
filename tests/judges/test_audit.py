"""Which verdicts deserve a second look, and what a run comes to after it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.audit import GRADES, FailureCause, Grading, Only, grading, misfit, picks, regrade, truth
from pytest_recall.judges.calibration import JudgeKey
from pytest_recall.metrics.agreement import Confusion
from pytest_recall.trials.trial import Answer, Judgement, Outcome, Trial, Verdict, Vote
from tests.helpers.samples import trial, unhurried

YES, NO = Vote(passed=True), Vote(passed=False)


def by_model(passed: bool, *votes: Vote, judge: str = "rubric", **more: Any) -> Verdict:
    """Return the verdict of a model."""
    judgement = Judgement(votes or (Vote(passed=passed),), **more)
    return Verdict(passed=passed, judge=judge, model="m", version="v", judgement=judgement)


def judged(case_id: str, *verdicts: Verdict) -> Trial:
    """Return a trial with these verdicts."""
    passed = all(verdict.passed for verdict in verdicts)
    outcome = Outcome.PASSED if passed else Outcome.FAILED
    return trial(case_id, outcome, verdicts=verdicts, answer=Answer(text=case_id))


RUN = (
    judged("agreed", by_model(False, NO, appeal=NO, cause="failed")),
    judged("code", Verdict(passed=False, judge="exact")),
    judged("overturned", by_model(True, NO, appeal=YES, cause="failed")),
    judged("split", by_model(True, YES, NO, YES)),
    judged("unheard", by_model(True, YES, appeal=Vote(error="429"), cause="audit")),
    judged("passed", by_model(True)),
    trial("crashed", Outcome.ERROR),
)


class TestPicks:
    """What is chosen, and why."""

    @pytest.mark.parametrize(
        ("only", "sample", "wanted"),
        [
            ("disagreements", 0, {"overturned", "split"}),
            ("fails", 0, {"agreed"}),
            ("passes", 9, {"overturned", "split", "unheard", "passed"}),
            ("passes", 0, set()),
            ("all", 0, {"agreed", "code", "overturned", "split", "unheard", "passed"}),
            (None, 0, {"agreed", "overturned", "split"}),
        ],
    )
    def test_each_kind(self, only: Only | None, sample: int, wanted: set[str]) -> None:
        assert {pick.trial.case_id for pick in picks(RUN, only, sample, "1")} == wanted

    def test_the_reasons_are_told(self) -> None:
        told = {pick.trial.case_id: pick.chosen for pick in picks(RUN, None, 0, "1")}
        assert told == {
            "agreed": ("rubric: a fail by a model",),
            "overturned": ("rubric: the appellate judge does not agree",),
            "split": ("rubric: the votes differ",),
        }

    def test_the_last_attempt_is_the_one_to_look_at(self) -> None:
        tries = [judged("a", by_model(False)), judged("a", by_model(True))]
        assert picks(tries, "fails", 5, "1") == []
        assert [pick.trial for pick in picks(tries, "passes", 5, "1")] == tries[1:]

    def test_a_last_attempt_without_a_verdict_leaves_nothing_to_look_at(self) -> None:
        assert picks([judged("a", by_model(False)), trial("a", Outcome.ERROR)], "all", 5, "1") == []

    @given(st.integers(0, 30), st.text(), st.randoms(use_true_random=False))
    @unhurried
    def test_a_sample_has_its_size_in_any_order(self, size: int, seed: str, random: Any) -> None:
        trials = [judged(f"c{number}", by_model(True)) for number in range(20)]
        drawn = picks(trials, "passes", size, seed)
        random.shuffle(trials)
        assert picks(trials, "passes", size, seed) == drawn
        assert len(drawn) == min(size, 20)


@pytest.mark.parametrize(
    ("case_id", "grade", "told"),
    [
        ("passt", "agree", "id: `passt` came to no verdict in this run; did you mean `passed`?"),
        ("crashed", "agree", "id: `crashed` came to no verdict in this run; *"),
        ("passed", "agreed", "grade: 'agreed' is unknown; did you mean `agree`?"),
        (
            "passed",
            "judge_false_negative",
            "grade: `judge_false_negative` does not fit, as the case passed; give one *",
        ),
        ("passed", "system_failure", "grade: `system_failure` does not fit, as the case passed; give one of agree, *"),
        ("agreed", "judge_false_positive", "grade: `judge_false_positive` does not fit, as the case failed; *"),
    ],
)
def test_what_cannot_be_is_one_sentence(case_id: str, grade: str, told: str) -> None:
    found = misfit(case_id, grade, grading(RUN))
    assert found.startswith(told.removesuffix("*"))


@pytest.mark.parametrize(
    ("grade", "cause", "told"),
    [
        ("system_failure", "src/rank.py:88", ""),
        ("system_failure", "", ""),
        ("system_failure", "the ranking", "cause: 'the ranking' names no place; *"),
        ("system_failure", "src/rank.py:0", "cause: 'src/rank.py:0' names no place; *"),
        ("agree", "src/rank.py:88", "cause: is for `system_failure`, and the grade is `agree`; *"),
    ],
)
def test_a_cause_is_a_place_and_goes_with_a_failure_of_the_system(grade: str, cause: str, told: str) -> None:
    found = misfit("agreed", grade, grading(RUN), cause)
    assert found.startswith(told.removesuffix("*"))
    assert bool(found) is bool(told)


def test_causes_are_counted_by_answers_and_by_distinct_questions() -> None:
    run = [
        judged(name, by_model(False))._replace(fingerprint=name[-1]) for name in ("30d/a", "60d/a", "30d/b", "60d/b")
    ]
    gradings = {
        "30d/a": Grading("system_failure", cause="rank.py:8"),
        "60d/a": Grading("system_failure", cause="rank.py:8"),
        "30d/b": Grading("system_failure", cause="store.py:1"),
        "60d/b": Grading("system_failure"),
    }
    found = regrade(run, gradings)
    assert found is not None
    assert found.causes == (FailureCause("rank.py:8", 2, 1), FailureCause("store.py:1", 1, 1))


def test_both_numbers_and_the_confusion_of_each_judge() -> None:
    gradings = {
        "agreed": Grading("judge_false_negative"),
        "passed": Grading("judge_false_positive"),
        "code": Grading("case_defect"),
        "split": Grading("agree"),
    }
    found = regrade(RUN, gradings)
    assert found is not None
    assert (found.verdicts, found.judged, found.passed, found.defects) == (6, 4, 4, 1)
    assert found.confusions == {JudgeKey("rubric", "m", "v"): Confusion(1, 1, 0, 1)}
    assert found.grades == {"agree": 1, "judge_false_negative": 1, "judge_false_positive": 1, "case_defect": 1}


def test_a_fail_is_the_doing_of_those_who_failed_it() -> None:
    run = [judged("a", Verdict(passed=True, judge="exact"), by_model(False))]
    found = regrade(run, {"a": Grading("system_failure")})
    assert found is not None
    assert found.confusions == {JudgeKey("rubric", "m", "v"): Confusion(right_fails=1)}


def test_nobody_can_tell_whose_doing_a_false_pass_of_several_judges_is() -> None:
    run = [judged("a", Verdict(passed=True, judge="exact"), by_model(True))]
    found = regrade(run, {"a": Grading("judge_false_positive")})
    assert found is not None
    assert (found.passed, found.confusions) == (0, {})


def test_grades_of_cases_that_are_not_there_come_to_nothing() -> None:
    assert regrade(RUN, {"gone": Grading("agree")}) is None
    assert regrade(RUN, {}) is None


GRADED = st.lists(st.tuples(st.booleans(), st.sampled_from([None, *GRADES])), max_size=12)


@given(GRADED)
@unhurried
def test_the_numbers_add_up(said: list[tuple[bool, str | None]]) -> None:
    trials = [judged(f"c{place}", by_model(passed)) for place, (passed, _) in enumerate(said)]
    by_id = grading(trials)
    gradings = {
        f"c{place}": Grading(grade)
        for place, (_, grade) in enumerate(said)
        if grade is not None and not misfit(f"c{place}", grade, by_id)
    }
    found = regrade(trials, gradings)
    if not gradings:
        assert found is None
        return
    assert found is not None
    assert sum(found.grades.values()) == len(gradings)
    assert found.judged == sum(passed for passed, _ in said)
    assert 0 <= found.passed <= found.verdicts - found.defects
    assert sum(sum(confusion) for confusion in found.confusions.values()) == len(gradings) - found.defects
    # What is graded as it was judged changes nothing but the defects.
    agreed = regrade(trials, dict.fromkeys(gradings, Grading("agree")))
    assert agreed is not None
    assert agreed.passed == agreed.judged
    assert not any(one.false_passes or one.false_fails for one in agreed.confusions.values())


@pytest.mark.parametrize("passed", [True, False])
@pytest.mark.parametrize("grade", GRADES)
def test_the_truth_is_the_graders(grade: str, passed: bool) -> None:
    one = judged("a", by_model(passed))
    if misfit("a", grade, {"a": one}):
        return
    wanted = {"agree": passed, "case_defect": None, "system_failure": False}
    assert truth(one, grade) is wanted.get(grade, not passed)
