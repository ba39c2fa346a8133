"""What models judged in a run, counted: by judge, by calibration, by what happened to verdicts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.calibration import (
    Agreement,
    Calibration,
    JudgeKey,
    Opinion,
    Panels,
    Reviews,
    Share,
    agreement,
    panels,
    weak_judges,
)
from pytest_recall.trials.trial import Judgement, Outcome, Preflight, Trial, Verdict, Vote, WeakJudge
from tests.helpers.samples import trial, unhurried


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
            judged(failed, passed, failed, appeal=failed, cause="failed"),
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


class TestUnproven:
    """Which outcomes count for nothing, since a judge falls short of what is asked for."""

    KEY = JudgeKey("rubric", "m", "v1")
    MIN_KAPPA = 0.6

    def outcome(self, *verdicts: Verdict) -> Trial:
        """Return a trial with these verdicts."""
        passed = all(verdict.passed for verdict in verdicts)
        return trial(outcome=Outcome.PASSED if passed else Outcome.FAILED, verdicts=verdicts)

    def by_model(self, passed: bool, **more: Any) -> Verdict:
        """Return the verdict of a model."""
        given = {"judge": "rubric", "model": "m", "version": "v1", **more}
        return Verdict(passed=passed, judgement=Judgement((Vote(passed=passed),)), **given)

    def test_without_a_minimum_everything_counts(self) -> None:
        assert weak_judges(self.outcome(self.by_model(False)), {}, None) == ()

    @pytest.mark.parametrize("kappa", [None, 0.414, 0.59])
    def test_a_judge_is_too_weak_without_a_kappa_or_below_what_is_asked_for(self, kappa: float | None) -> None:
        known = {} if kappa is None else {self.KEY: Calibration(kappa, 50)}
        found = weak_judges(self.outcome(self.by_model(False)), known, self.MIN_KAPPA)
        assert found == (WeakJudge("rubric", "m", "v1", self.MIN_KAPPA, kappa),)

    def test_a_kappa_that_reaches_it_is_enough(self) -> None:
        assert not weak_judges(self.outcome(self.by_model(False)), {self.KEY: Calibration(0.6, 50)}, self.MIN_KAPPA)

    def test_a_judge_is_named_once(self) -> None:
        found = weak_judges(self.outcome(self.by_model(True), self.by_model(True)), {}, self.MIN_KAPPA)
        assert len(found) == 1

    def test_the_third_outcome_is_none(self) -> None:
        crashed = trial(outcome=Outcome.ERROR, verdicts=(self.by_model(False),))
        assert weak_judges(crashed, {}, self.MIN_KAPPA) == ()

    @given(st.lists(st.tuples(st.booleans(), st.sampled_from(["code", "calibrated", "not"])), min_size=1, max_size=5))
    @unhurried
    def test_a_fail_counts_with_one_judge_to_be_believed_and_a_pass_with_all(
        self, said: list[tuple[bool, str]]
    ) -> None:
        verdicts = [
            Verdict(passed=passed, judge="exact") if who == "code" else self.by_model(passed, model=who)
            for passed, who in said
        ]
        known = {self.KEY._replace(model="calibrated"): Calibration(0.8, 50)}
        counts = not weak_judges(self.outcome(*verdicts), known, self.MIN_KAPPA)
        if all(passed for passed, _ in said):
            assert counts == all(who != "not" for _, who in said)
        else:
            assert counts == any(who != "not" for passed, who in said if not passed)


# A judge compared with people: what is counted, what is not, and what no counting may change


KEY = JudgeKey("rubric", "m", "v1")
OPINIONS = st.lists(
    st.builds(
        Opinion,
        id=st.text("abc", min_size=1),
        label=st.booleans(),
        passed=st.none() | st.booleans(),
        score=st.none() | st.floats(0, 1),
        given=st.none() | st.floats(0, 1),
    ),
    max_size=30,
)


def said(*pairs: tuple[bool, bool | None]) -> Agreement:
    """Return the agreement of pairs (label, passed)."""
    return agreement(KEY, [Opinion(str(place), *pair) for place, pair in enumerate(pairs)])


def test_mistakes_are_counted_among_the_labels_that_allow_them() -> None:
    found = said((True, True), (True, False), (False, True), (False, True), (False, False))
    assert (found.n, found.percent) == (5, 0.4)
    assert (found.false_passes, found.false_fails) == (Share(2, 3), Share(1, 2))
    assert [one.id for one in found.wrong] == ["1", "2", "3"]


def test_a_judgement_that_came_to_nothing_is_no_score() -> None:
    found = said((True, True), (False, False), (True, None), (False, None))
    assert (found.n, found.percent) == (2, 1.0)
    assert [one.id for one in found.unjudged] == ["2", "3"]
    assert found.wrong == ()


def test_without_any_judgement_everything_is_undefined() -> None:
    found = said((True, None))
    assert (found.n, found.percent, found.kappa, found.false_passes.interval) == (0, None, None, None)


def test_kappa_is_undefined_where_both_always_say_the_same() -> None:
    assert said((True, True), (True, True)).kappa is None


def test_the_distance_of_scores_is_over_those_that_have_both() -> None:
    opinions = [
        Opinion("a", True, True, score=1.0, given=0.75),
        Opinion("b", True, True, score=0.5),
        Opinion("c", True, None, given=0.1),
    ]
    assert agreement(KEY, opinions).distance == 0.25
    assert agreement(KEY, opinions[1:]).distance is None


@given(OPINIONS)
@unhurried
def test_every_opinion_is_counted_once(opinions: list[Opinion]) -> None:
    found = agreement(KEY, opinions)
    assert found.n + len(found.unjudged) == len(opinions)
    assert found.false_passes.times + found.false_fails.times == len(found.wrong)
    assert found.false_passes.of + found.false_fails.of == found.n
    if found.n:
        assert found.percent is not None
        assert abs(found.percent - (1 - len(found.wrong) / found.n)) < 1e-9


@given(OPINIONS)
@unhurried
def test_the_order_does_not_matter(opinions: list[Opinion]) -> None:
    turned = list(reversed(opinions))
    one, other = agreement(KEY, opinions), agreement(KEY, turned)
    assert (one.kappa is None) == (other.kappa is None)
    if one.kappa and other.kappa:
        assert abs(one.kappa.value - other.kappa.value) < 1e-9
    assert (one.false_passes, one.false_fails) == (other.false_passes, other.false_fails)


@given(OPINIONS)
@unhurried
def test_what_came_to_nothing_changes_no_figure(opinions: list[Opinion]) -> None:
    heard = [one for one in opinions if one.passed is not None]
    assert agreement(KEY, opinions)._replace(unjudged=()) == agreement(KEY, heard)
