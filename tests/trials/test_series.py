"""Series: what several trials come to, whatever their order, and what they leave open."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.case import k_of_n
from pytest_recall.trials.detector import CaseLikelihood, RatioRule
from pytest_recall.trials.series import AnyRule, Rule, TrialCount, graded, rule_of, series, trial_count
from pytest_recall.trials.trial import Outcome, SeriesTally
from tests.helpers.samples import ERROR, FAILED, PASSED, SKIPPED, case, outcomes, row, trial, unhurried

CONFIRM = Rule("fail", 2, 3)
MOST = Rule("pass", 4, 5)
SHORT = {"p": PASSED, "f": FAILED, "e": ERROR, "s": SKIPPED}

rules = st.builds(
    lambda ends, numbers: Rule(ends, min(numbers), max(numbers)),
    st.sampled_from(["pass", "fail"]),
    st.tuples(st.integers(1, 7), st.integers(1, 7)),
)


def read(text: str) -> list[Outcome]:
    """Return the outcomes that letters stand for."""
    return [SHORT[letter] for letter in text]


@pytest.mark.parametrize(
    ("rule", "told", "verdict"),
    [
        (CONFIRM, "p", PASSED),
        (CONFIRM, "f", None),
        (CONFIRM, "ff", FAILED),
        (CONFIRM, "fp", None),
        (CONFIRM, "fpp", PASSED),
        (CONFIRM, "fpf", FAILED),
        (CONFIRM, "e", ERROR),
        (CONFIRM, "s", SKIPPED),
        (CONFIRM, "fe", None),
        (CONFIRM, "fef", FAILED),
        (CONFIRM, "fep", ERROR),
        (CONFIRM, "fpe", ERROR),
        (Rule("fail", 4, 5), "fpe", None),
        (Rule("fail", 4, 5), "fpep", PASSED),
        (MOST, "pppp", None),
        (MOST, "ppppf", PASSED),
        (MOST, "fpppp", PASSED),
        (MOST, "ff", None),
        (MOST, "ffppp", FAILED),
        (MOST, "pppee", ERROR),
        (MOST, "ppppe", PASSED),
        (MOST, "ffeee", FAILED),
        (MOST, "ee", None),
        (MOST, "eeee", ERROR),
        (MOST, "ssss", SKIPPED),
        (MOST, "sses", ERROR),
    ],
)
def test_what_trials_come_to(rule: Rule, told: str, verdict: Outcome | None) -> None:
    assert rule.decided(read(told)) is verdict


@unhurried
@given(rules, st.lists(outcomes, min_size=7, max_size=7))
def test_a_series_ends_within_its_tries_and_its_verdict_is_what_was_counted(rule: Rule, told: list[Outcome]) -> None:
    count = next(n for n in range(1, 8) if rule.decided(told[:n]) is not None)
    assert count <= rule.tries
    seen = told[:count]
    verdict = rule.decided(seen)
    passes, fails = seen.count(PASSED), seen.count(FAILED)
    needed, spare = rule.needed, rule.tries - rule.needed
    if verdict is PASSED:
        assert passes >= needed if rule.ends == "pass" else passes > spare or seen == [PASSED]
    elif verdict is FAILED:
        assert fails > spare if rule.ends == "pass" else fails >= needed
    else:
        assert any(not outcome.is_verdict for outcome in seen)


@unhurried
@given(rules)
def test_without_trouble_there_is_always_a_verdict(rule: Rule) -> None:
    for told in itertools.islice(itertools.product([PASSED, FAILED], repeat=rule.tries), 200):
        ended = next(rule.decided(told[:n]) for n in range(1, 8) if rule.decided(told[:n]) is not None)
        assert ended in (PASSED, FAILED)


@given(rules)
def test_a_rule_is_read_back_from_its_text(rule: Rule) -> None:
    assert Rule.parse(str(rule)) == rule


@pytest.mark.parametrize("text", ["", "pass", "pass 3of2", "pass 0of2", "fail 2 of 3", "miss 2of3", "pass 1of101"])
def test_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|2of3"):
        Rule.parse(text)


@pytest.mark.parametrize(
    ("trials", "confirm", "rule"),
    [
        (1, None, None),
        (3, None, Rule("pass", 3, 3)),
        ("2of3", "evidence:70", Rule("pass", 2, 3)),
        (1, "2of3", Rule("fail", 2, 3)),
        (1, "evidence:70", RatioRule(70, CaseLikelihood(4.0, 1, 9))),
    ],
)
def test_what_a_case_asks_for_goes_before_the_rubric(trials: object, confirm: str | None, rule: AnyRule | None) -> None:
    known = row(evidence=4.0, failed=1, tried=9)
    assert rule_of(case(trials=trials), confirm, known) == rule


def test_numbers_are_read() -> None:
    assert k_of_n("2of3") == (2, 3)


def test_the_trial_that_grades_is_one_of_the_outcome() -> None:
    told = [trial("a", outcome, repeat=n, rule="pass 2of3") for n, outcome in enumerate(read("pfp"), start=1)]
    assert graded([trial("b"), *told]) == {"b": trial("b"), "a": told[2]}
    assert series(told) == {"a": told}


def test_a_series_that_was_cut_off_has_no_verdict() -> None:
    (found,) = graded([trial("a", FAILED, repeat=1, rule="fail 2of3")]).values()
    assert found.outcome is ERROR
    assert (found.ended_by, found.tally) == ("series", SeriesTally((("failed", 1),), cut_off=True))
    assert not found.verdicts


def test_what_leaves_it_open_is_counted_beside_the_last_error() -> None:
    told = [trial("a", outcome, repeat=n, rule="pass 2of3") for n, outcome in enumerate(read("pef"), start=1)]
    (found,) = graded(told).values()
    assert found.outcome is ERROR
    assert found.error == "agent: TimeoutError: no answer"
    assert found.tally == SeriesTally((("passed", 1), ("failed", 1), ("error", 1)), cut_off=False)


def test_the_only_trial_of_a_series_says_itself_why_it_has_no_verdict() -> None:
    (found,) = graded([trial("a", ERROR, repeat=1, rule="pass 2of3", error="boom", ended_by="exception")]).values()
    assert (found.error, found.ended_by, found.tally) == ("boom", "exception", None)


def test_a_new_series_counts_and_the_earlier_one_does_not() -> None:
    first = [trial("a", FAILED, repeat=n, rule="fail 2of3") for n in (1, 2)]
    again = trial("a", PASSED, repeat=1, rule="fail 2of3")
    assert graded([*first, again]) == {"a": again}


def test_one_replayed_trial_makes_the_verdict_no_evidence() -> None:
    told = [trial("a", PASSED, repeat=n, rule="pass 2of2", counts_for_schedule=n == 2) for n in (1, 2)]
    (found,) = graded(told).values()
    assert not found.counts_for_schedule


@pytest.mark.parametrize(
    ("rule", "failing", "count"),
    [
        (None, True, TrialCount(1, 1)),
        (Rule("fail", 2, 3), False, TrialCount(1, 3)),
        (Rule("fail", 2, 3), True, TrialCount(2, 3)),
        (Rule("fail", 1, 1), False, TrialCount(1, 1)),
        (Rule("pass", 4, 5), False, TrialCount(5, 5)),
        (Rule("pass", 4, 5), True, TrialCount(5, 5)),
        (RatioRule(70), False, TrialCount(1, 4)),
        # Nothing is to be confirmed of one that is known to fail.
        (RatioRule(70).about(row(1, failure_note="no")), True, TrialCount(1, 1)),
    ],
)
def test_how_many_trials_a_case_takes(rule: AnyRule | None, failing: bool, count: TrialCount) -> None:
    assert trial_count(rule, failing=failing) == count


@given(st.integers(1, 4).flatmap(lambda n: st.builds(Rule, st.just("fail"), st.integers(1, n), st.just(n))), outcomes)
def test_no_series_takes_more_than_the_most(rule: Rule, ends: list[Outcome]) -> None:
    taken = 0
    while rule.decided(ends[:taken]) is None and taken < len(ends):
        taken += 1
    assert taken <= trial_count(rule, failing=False).most
