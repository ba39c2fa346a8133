"""Evidence: what trials say of a case that may have regressed, when that is enough, and what two branches know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.trials.detector import (
    ASSUMED,
    MOST_FLAKY,
    NOTHING,
    RERUNS,
    CaseLikelihood,
    RatioRule,
)
from pytest_recall.trials.series import confirming, graded, parse_rule
from pytest_recall.trials.trial import Outcome
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, failing, outcomes, row, trial, unhurried

SHORT = {"p": PASSED, "f": FAILED, "e": ERROR, "s": SKIPPED}
FLAKY = CaseLikelihood(1.0, 4, 20)


@st.composite
def known(draw: st.DrawFn) -> CaseLikelihood:
    """Draw what is known of a case."""
    failed = draw(st.integers(0, 9))
    evidence = draw(st.just(1.0) | st.integers(100, 20_000).map(lambda hundredths: hundredths / 100))
    return CaseLikelihood(evidence, failed, failed + draw(st.integers(0, 200)))


needed = st.sampled_from([5, 20, 70, 10_000])
passes = st.lists(st.booleans(), max_size=8)


def read(text: str) -> list[Outcome]:
    """Return the outcomes that letters stand for."""
    return [SHORT[letter] for letter in text]


# Evidence


@given(known(), passes, needed)
def test_it_is_never_less_than_none_and_all_trials_are_on_record(
    before: CaseLikelihood, told: list[bool], enough: int
) -> None:
    after = before.after(told, enough)
    assert after.ratio >= 1
    assert ASSUMED <= after.flake <= MOST_FLAKY
    assert (after.failed - before.failed, after.tried - before.tried) == (told.count(False), len(told))


@given(known(), passes, needed, st.integers(0, 7))
def test_a_fail_in_the_place_of_a_pass_never_makes_it_less(
    before: CaseLikelihood, told: list[bool], enough: int, at: int
) -> None:
    worse = [passed and index != at for index, passed in enumerate(told)]
    assert before.after(worse, enough).ratio >= before.after(told, enough).ratio
    assert before.after([*told, False], enough).ratio >= before.after(told, enough).ratio


@given(st.integers(0, 5), st.integers(6, 200), needed)
def test_no_fail_is_enough_by_itself_and_that_of_a_flaky_case_says_less(failed: int, tried: int, enough: int) -> None:
    one = CaseLikelihood(1.0, failed, tried).after([False], enough).ratio
    assert 1 < one < enough
    assert CaseLikelihood(1.0, failed + 1, tried).after([False], enough).ratio <= one


def test_passes_take_it_back_and_trials_do_not_explain_themselves() -> None:
    assert NOTHING.after([False], 70) == (35, 1, 1)
    assert NOTHING.after([False, True, True, True], 70) == (2.24, 1, 4)
    assert NOTHING.after([False] * 4, 70).ratio == 10**6
    assert FLAKY.flake == pytest.approx((4 + 0.025) / 25)
    assert FLAKY.after([False, True], 70) == (1.65, 5, 22)


# Series


@pytest.mark.parametrize(
    ("before", "told", "verdict", "doubted"),
    [
        (NOTHING, "p", PASSED, False),
        (NOTHING, "f", None, False),
        (NOTHING, "ff", FAILED, False),
        (NOTHING, "fp", None, False),
        (NOTHING, "fpf", FAILED, False),
        (NOTHING, "fppf", FAILED, False),
        (NOTHING, "fppp", FAILED, True),
        (CaseLikelihood(2.24), "f", FAILED, False),
        (CaseLikelihood(60), "p", PASSED, False),
        (FLAKY, "fp", None, False),
        (FLAKY, "fpp", PASSED, False),
        (FLAKY, "fpf", None, False),
        (FLAKY, "fff", FAILED, False),
        (CaseLikelihood(1.0, 10, 20), "ffff", FAILED, True),
        (NOTHING, "e", ERROR, False),
        (NOTHING, "s", SKIPPED, False),
        (NOTHING, "fef", FAILED, False),
        (NOTHING, "feee", ERROR, False),
    ],
)
def test_what_trials_come_to(before: CaseLikelihood, told: str, verdict: Outcome | None, doubted: bool) -> None:
    rule = RatioRule(70, before)
    assert rule.decided(read(told)) is verdict
    assert rule.is_unconfirmed(read(told)) is doubted


@unhurried
@given(known(), needed, st.lists(outcomes, min_size=4, max_size=4))
def test_a_series_ends_within_its_tries(before: CaseLikelihood, enough: int, told: list[Outcome]) -> None:
    rule = RatioRule(enough, before)
    count = next(n for n in range(1, 7) if rule.decided(told[:n]) is not None)
    assert count <= rule.tries == 1 + RERUNS
    seen = told[:count]
    if rule.decided(seen) is FAILED and not rule.is_unconfirmed(seen):
        assert seen[-1] is FAILED
        assert rule.after(seen).ratio >= enough


@given(known(), needed)
def test_a_rule_is_read_back_from_its_text(before: CaseLikelihood, enough: int) -> None:
    rule = RatioRule(enough, before)
    assert parse_rule(str(rule)) == rule
    assert confirming(rule.written) == RatioRule(enough)


def test_a_case_that_is_known_to_fail_has_nothing_to_confirm() -> None:
    rule = RatioRule(70).about(failing(failed=1, tried=30))
    assert rule.decided([FAILED]) is FAILED
    assert not rule.is_unconfirmed([FAILED])
    assert rule.decided([PASSED]) is PASSED
    assert rule.decided([]) is None
    assert RatioRule(70).about(row(evidence=3.2, failed=1, tried=9)).known == (3.2, 1, 9)


def test_the_trial_that_grades_says_that_its_fail_is_not_confirmed() -> None:
    rule = str(RatioRule(70))
    told = [trial("a", one, repeat=number, rule=rule) for number, one in enumerate(read("fppp"), 1)]
    (found,) = graded(told).values()
    assert (found.outcome, found.is_doubted) == (FAILED, True)
    assert found.weighed is not None
    assert found.weighed.passes == (False, True, True, True)


def test_a_pass_is_never_asked_twice() -> None:
    """Whatever is known against the case: a ratio that is all but reached falls with a pass."""
    assert RatioRule(70, CaseLikelihood(69.9, 3, 20)).decided([PASSED]) is PASSED
    assert RatioRule(70).tries == 1 + RERUNS


@pytest.mark.parametrize(
    "text",
    [
        "evidence 70",
        "evidence 0 from 1.00, 0 of 0 failed",
        "evidence 70 from -1, 0 of 0",
        "evidence 70 from 1.00, 0 of 1 failed, untouched",
        "evidence 70 from 1.00, 0 of 1 failed, twice",
    ],
)
def test_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match="not a rule"):
        parse_rule(text)
