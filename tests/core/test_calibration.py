"""What models judged in a run, counted: by judge, by calibration, by what happened to verdicts."""

from __future__ import annotations

from typing import Any

from pytest_recall.core.calibration import Calibration, JudgeKey, Panels, Reviews, panels
from pytest_recall.core.judgement import Judgement, Preflight, Vote
from pytest_recall.core.trial import Trial, Verdict
from tests.core.samples import trial


def judged(*votes: Vote, judge: str = "rubric", model: str = "m", **more: Any) -> Trial:
    """Return a trial with the verdict of one judge on these votes."""
    judgement = Judgement(votes or (Vote(passed=True),), **more)
    verdict = Verdict(passed=True, judge=judge, model=model, version="v1", judgement=judgement)
    return trial(verdicts=(verdict, Verdict(passed=True, judge="exact")))


def test_nothing_is_counted_where_no_model_judged() -> None:
    assert panels([trial(), trial(verdicts=(Verdict(passed=True, judge="exact"),))], {}) == Panels()


def test_verdicts_are_counted_by_judge_model_and_version() -> None:
    found = panels([judged(), judged(), judged(model="n"), judged(judge="memory")], {})
    assert found.verdicts == {
        JudgeKey("memory", "m", "v1"): 1,
        JudgeKey("rubric", "m", "v1"): 2,
        JudgeKey("rubric", "n", "v1"): 1,
    }
    assert (found.total, found.uncalibrated) == (4, 4)


def test_a_calibration_counts_for_one_version_only() -> None:
    known = {JudgeKey("rubric", "m", "v1"): Calibration(0.8, 50), JudgeKey("rubric", "n", "v0"): Calibration(0.9, 9)}
    found = panels([judged(), judged(), judged(model="n")], known)
    assert found.calibrations == {JudgeKey("rubric", "m", "v1"): Calibration(0.8, 50)}
    assert found.uncalibrated == 1


def test_appeals_and_audits_are_told_apart() -> None:
    passed, failed, unheard = Vote(passed=True), Vote(passed=False), Vote(error="429")
    found = panels(
        [
            judged(failed, appeal=passed, cause="failed"),
            judged(failed, appeal=failed, cause="failed"),
            judged(passed, failed, passed, appeal=passed, cause="disagreement"),
            judged(passed, appeal=failed, cause="audit"),
            judged(passed, appeal=passed, cause="audit"),
            judged(passed, appeal=unheard, cause="audit"),
        ],
        {},
    )
    assert found.appeals == Reviews(3, 1, 0)
    assert found.audits == Reviews(3, 1, 1)
    assert found.split == 1


def test_retries_and_flips_are_added_up_over_all_votes() -> None:
    found = panels(
        [
            judged(Vote(passed=True, retried=1), Vote(passed=True, retried=2), appeal=Vote(retried=4), cause="audit"),
            judged(Vote(passed=True, flips=1), Vote(error="no"), judge="pairwise"),
        ],
        {},
    )
    assert (found.retried, found.compared, found.flips) == (7, 1, 1)


def test_preflights_are_added_up_over_workers_and_told_by_judge() -> None:
    flown = {"m": Preflight(6, 1, 1)}
    trials = [judged(preflights=flown), judged(preflights=flown), judged(judge="memory", preflights=flown)]
    found = panels(trials, {})
    assert found.preflights == {("memory", "m"): Preflight(6, 1, 1), ("rubric", "m"): Preflight(12, 2, 2)}


def test_a_preflight_counts_though_the_attempt_that_it_came_with_does_not() -> None:
    found = panels([judged()], {}, earlier=[judged(preflights={"m": Preflight(6, 0, 1)})])
    assert (found.total, found.preflights) == (1, {("rubric", "m"): Preflight(6, 0, 1)})
