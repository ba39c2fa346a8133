"""The boxes, rule by rule, and what holds for every history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.boxes import INTERVALS, LAST_BOX, fold, released, reset, review, swapped
from pytest_recall.trials.trial import Outcome, Row, Trial, Verdict, WeighedTrials
from tests.helpers.samples import (
    ERROR,
    FAILED,
    PASSED,
    SKIPPED,
    TODAY,
    case_ids,
    costly,
    dates,
    days,
    failing,
    maybe_text,
    outcomes,
    row,
    rows,
    trial,
    trials,
    unhurried,
    verdicts,
)

# Each case is folded by itself: a few rows and trials are as many as it takes. Trials have what a review looks at,
# since to draw whole ones takes most of the time.
few_rows: st.SearchStrategy[Mapping[str, Row]] = st.dictionaries(case_ids, rows(), max_size=8)
folded = st.lists(
    st.builds(
        lambda case_id, outcome, seen, pr, model, counts: trial(
            case_id, outcome, verdicts=seen, error="no answer", pr=pr, model=model, counts_for_schedule=counts
        ),
        case_ids,
        outcomes,
        st.lists(verdicts, max_size=1).map(tuple),
        maybe_text,
        maybe_text,
        st.booleans(),
    ),
    max_size=20,
)
third_outcomes = st.sampled_from([ERROR, SKIPPED])


def seen(before: Row | None, one: Trial, today: date = TODAY) -> Row:
    """Return the row after a trial that leaves one."""
    after = review(before, one, today)
    assert after is not None
    return after


def history(outcomes: Sequence[Outcome], start: Row | None = None) -> Row | None:
    """Return the row after these outcomes, each on the day on which the case was due."""
    current, today = start, TODAY
    for outcome in outcomes:
        current = review(current, trial(outcome=outcome), today)
        today = current.next_due if current else today
    return current


# The rules, by hand


def test_boxes_are_those_of_the_published_design() -> None:
    assert dict(INTERVALS) == {1: 1, 2: 3, 3: 7, 4: 14, 5: 30}
    assert LAST_BOX == 5


def test_first_pass_lands_in_box_1() -> None:
    assert review(None, trial(pr="7", model="m1"), TODAY) == Row(1, 1, TODAY, TODAY + days(1), "7", "m1")


def test_first_fail_lands_in_box_1_as_well() -> None:
    assert review(None, trial(outcome=FAILED, pr="7", model="m1"), TODAY) == Row(
        1, 0, TODAY, TODAY + days(1), "7", "m1", "contains: no “one pound”", "7"
    )


@pytest.mark.parametrize(
    ("box", "streak", "to", "interval"), [(1, 1, 2, 3), (2, 2, 3, 7), (3, 3, 4, 14), (4, 4, 5, 30), (5, 5, 5, 30)]
)
def test_pass_on_a_due_row_moves_up(box: int, streak: int, to: int, interval: int) -> None:
    after = review(row(box, streak, due=TODAY), trial(pr="8", model="m2"), TODAY)
    assert after == Row(to, streak + 1, TODAY, TODAY + days(interval), "8", "m2")


def test_pass_on_an_overdue_row_counts_from_today() -> None:
    assert seen(row(2, 2, due=TODAY - days(90)), trial()).next_due == TODAY + days(7)


def test_pass_in_box_1_moves_up_though_it_is_early() -> None:
    early = row(1, 1, tested=TODAY, due=TODAY + days(1))
    assert review(early, trial(), TODAY) == Row(2, 2, TODAY, TODAY + days(3))


@pytest.mark.parametrize("box", [2, 3, 4, 5])
def test_early_pass_only_refreshes(box: int) -> None:
    early = row(box, box, tested=TODAY - days(2), due=TODAY + days(1), last_pr="1", last_model="m1")
    after = review(early, trial(pr="9", model="m2"), TODAY)
    assert after == early._replace(last_tested=TODAY, last_pr="9", last_model="m2")


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("known", [row(1, 1, tested=TODAY), row(3, 3, tested=TODAY), failing(tested=TODAY)])
def test_a_verdict_that_is_older_than_the_row_is_no_news(known: Row, outcome: Outcome) -> None:
    assert review(known, trial(outcome=outcome, pr="9", model="m2"), TODAY - days(1)) == known


@pytest.mark.parametrize(("outcome", "box"), [(PASSED, 4), (FAILED, 1)])
def test_a_verdict_of_the_same_day_is_news(outcome: Outcome, box: int) -> None:
    assert seen(row(3, 3, tested=TODAY), trial(outcome=outcome)).box == box


@pytest.mark.parametrize("due", [TODAY - days(3), TODAY, TODAY + days(20)])
@pytest.mark.parametrize("box", [1, 3, 5])
def test_fail_always_counts(box: int, due: date) -> None:
    after = review(row(box, box, due=due), trial(outcome=FAILED, pr="9", model="m2"), TODAY)
    assert after == Row(1, 0, TODAY, TODAY + days(1), "9", "m2", "contains: no “one pound”", "9", lapses=int(box > 1))


def test_a_note_is_one_line_of_bounded_length() -> None:
    long = trial(outcome=FAILED, verdicts=(Verdict(passed=False, reason="a\n" + "b " * 250, judge="exact"),))
    note = seen(None, long).failure_note
    assert note is not None
    assert note.startswith("exact: a b")
    assert 195 < len(note) <= 200


@pytest.mark.parametrize("verdicts", [(), (Verdict(passed=False, reason=" \n"),)])
def test_a_fail_without_a_note_is_noted_all_the_same(verdicts: tuple[Verdict, ...]) -> None:
    after = seen(None, trial(outcome=FAILED, verdicts=verdicts))
    assert (after.failure_note, after.failing) == ("failed", True)


def test_a_fail_that_is_not_confirmed_moves_no_box_and_is_not_forgotten() -> None:
    before = row(4, 4, due=TODAY)
    doubted = trial("a", FAILED, weighed=WeighedTrials((False, True, True, True), 70, unconfirmed=True))
    assert review(before, doubted, TODAY) == before._replace(evidence=2.24, failed=1, tried=4)
    assert review(None, doubted, TODAY) is None
    assert review(before, doubted._replace(counts_for_schedule=False), TODAY) == before


def test_a_fail_that_is_confirmed_leaves_nothing_to_confirm() -> None:
    confirmed = trial("a", FAILED, weighed=WeighedTrials((False, False), 70))
    after = review(row(4, 4, evidence=3.0, tried=9), confirmed, TODAY)
    assert after is not None
    assert (after.box, after.evidence, after.failed, after.tried) == (1, 1, 2, 11)
    again = review(after, confirmed, TODAY)
    assert again is not None
    assert (again.failed, again.tried) == (2, 11), "how often it fails while it is broken is not a flake"


def test_pass_clears_the_note() -> None:
    after = seen(failing(failure_pr="7"), trial())
    assert (after.failure_note, after.failure_pr, after.failing) == (None, None, False)


@pytest.mark.parametrize("outcome", [ERROR, SKIPPED])
@pytest.mark.parametrize("before", [None, row(1, 0), row(4, 4, due=TODAY - days(3))])
def test_third_outcome_leaves_the_row_alone(before: Row | None, outcome: Outcome) -> None:
    assert review(before, trial(outcome=outcome, pr="9"), TODAY) == before


@pytest.mark.parametrize(("passes", "box"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 5), (20, 5)])
def test_passes_in_a_row_from_new(passes: int, box: int) -> None:
    after = history([PASSED] * passes)
    assert after is not None
    assert (after.box, after.pass_streak) == (box, passes)


def test_the_way_back_after_a_fail() -> None:
    assert [
        (after.box, after.pass_streak)
        for passes in range(6)
        if (after := history([PASSED] * 4 + [FAILED] + [PASSED] * passes))
    ] == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (5, 5)]


# What holds for every history


@unhurried
@given(st.lists(st.tuples(st.integers(0, 40), outcomes), max_size=30))
def test_nothing_graduates(steps: list[tuple[int, Outcome]]) -> None:
    current: Row | None = None
    today, verdicts = TODAY, 0
    for wait, outcome in steps:
        today += days(wait)
        verdicts += outcome.is_verdict
        current = review(current, trial(outcome=outcome), today)
        assert (current is None) == (verdicts == 0)
        if current is not None:
            assert 1 <= current.box <= 5
            assert 0 <= current.pass_streak <= verdicts
            assert current.last_tested < current.next_due <= current.last_tested + days(30)


@costly
@given(rows(), trials, dates)
def test_a_row_comes_back_within_30_days_of_any_verdict(before: Row, one: Trial, today: date) -> None:
    after = seen(before, one, today)
    if one.outcome.is_verdict and one.counts_for_schedule and before.last_tested <= today:
        assert after.next_due <= max(today + days(30), before.next_due)
        assert (after.last_pr, after.last_model) == (one.pr, one.model)
    else:
        assert after == before


@unhurried
@given(rows(), dates)
def test_early_pass_never_promotes(before: Row, today: date) -> None:
    after = seen(before, trial(), today)
    if before.last_tested > today:
        assert after == before
    elif before.box > 1 and not before.is_due(today):
        assert (after.box, after.pass_streak, after.next_due) == (before.box, before.pass_streak, before.next_due)
    else:
        assert (after.box, after.pass_streak) == (min(before.box + 1, 5), before.pass_streak + 1)


@unhurried
@given(rows(), st.lists(st.tuples(outcomes, dates), max_size=8))
def test_unknown_keys_survive(before: Row, steps: list[tuple[Outcome, date]]) -> None:
    current = before
    for outcome, today in steps:
        current = seen(current, trial(outcome=outcome), today)
    assert current.extra == before.extra


# The fold


def test_fold_gives_the_changed_rows_only() -> None:
    before = {"a": row(2, 2), "b": row(3, 3), "c": row(1, 0)}
    changed = fold(before, [trial("a"), trial("c", ERROR), trial("d"), trial("e", SKIPPED)], TODAY)
    assert changed == {"a": seen(before["a"], trial("a")), "d": seen(None, trial("d"))}


def test_fold_leaves_out_a_row_that_stays_the_same() -> None:
    early = row(3, 3, tested=TODAY, due=TODAY + days(7), last_pr="1")
    assert fold({"a": early}, [trial("a", pr="1")], TODAY) == {}


@pytest.mark.parametrize(
    ("attempts", "box"), [([FAILED, PASSED], 3), ([PASSED, FAILED], 1), ([FAILED, ERROR], None), ([ERROR, PASSED], 3)]
)
def test_the_last_attempt_grades(attempts: list[Outcome], box: int | None) -> None:
    changed = fold({"a": row(2, 2)}, [trial("a", outcome) for outcome in attempts], TODAY)
    assert (changed["a"].box if "a" in changed else None) == box


@costly
@given(few_rows, folded, dates)
def test_fold_reviews_the_last_trial_of_each_case(before: Mapping[str, Row], some: list[Trial], today: date) -> None:
    expected = {}
    for case_id in {one.case_id for one in some}:
        last = [one for one in some if one.case_id == case_id][-1]
        after = review(before.get(case_id), last, today)
        if after is not None and after != before.get(case_id):
            expected[case_id] = after
    assert fold(before, some, today) == expected


@costly
@given(few_rows, folded, dates, st.randoms(use_true_random=False))
def test_fold_does_not_depend_on_the_order_of_cases(
    before: Mapping[str, Row], some: list[Trial], today: date, random: Random
) -> None:
    names = sorted({one.case_id for one in some})
    random.shuffle(names)
    regrouped = [one for name in names for one in some if one.case_id == name]
    assert fold(before, regrouped, today) == fold(before, some, today)


@costly
@given(few_rows, folded, dates)
def test_fold_leaves_what_it_was_given(before: Mapping[str, Row], some: list[Trial], today: date) -> None:
    copy = dict(before)
    fold(before, some, today)
    assert before == copy


# A change of the model


def test_swapped_are_rows_of_another_known_model() -> None:
    before = {"a": row(last_model="m1"), "b": row(last_model="m2"), "c": row()}
    assert swapped(before, "m2") == ["a"]
    assert swapped(before, None) == []


def test_reset_returns_rows_to_box_1_and_makes_them_due() -> None:
    known = row(4, 4, due=TODAY + days(9), last_model="m1", last_pr="3", extra=", team: anna")
    before = {"a": known, "b": row(4, 4, last_model="m2")}
    again = reset(before, "m2", TODAY)
    assert again == {"a": known._replace(box=1, pass_streak=0, next_due=TODAY)}


def test_reset_keeps_the_note() -> None:
    known = failing(last_model="m1", failure_pr="7")._replace(pass_streak=1)
    assert reset({"a": known}, "m2", TODAY)["a"] == known._replace(pass_streak=0)


def test_reset_does_not_put_off_an_overdue_row() -> None:
    before = {"a": row(4, 4, due=TODAY - days(5), last_model="m1")}
    assert reset(before, "m2", TODAY)["a"].next_due == TODAY - days(5)


def test_a_verdict_under_the_new_model_ends_the_swap() -> None:
    before = {"a": row(4, 4, last_model="m1")}
    again = {**before, **reset(before, "m2", TODAY)}
    after = {**again, **fold(again, [trial("a", model="m2")], TODAY)}
    assert (after["a"].box, swapped(after, "m2")) == (2, [])


@costly
@given(few_rows, st.sampled_from(["m1", "m2", None]), dates, dates)
def test_reset_twice_is_reset_once(before: Mapping[str, Row], model: str | None, today: date, later: date) -> None:
    known = {name: r._replace(last_model=("m1", "m2", None)[i % 3]) for i, (name, r) in enumerate(before.items())}
    again = {**known, **reset(known, model, today)}
    assert reset(again, model, max(today, later)) == {}
    for name in swapped(known, model):
        assert again[name].box == 1


# Lapses and quarantine


def lived(text: str, quarantine: Quarantine | None = None, every: int = 40) -> Row:
    """Return the row after passes (`p`) and fails (`f`), so many days apart."""
    found: Row | None = None
    for turn, letter in enumerate(text):
        one = trial("a", PASSED if letter == "p" else FAILED)
        found = review(found, one, TODAY + days(turn * every), quarantine)
    assert found is not None
    return found


def test_passes_take_lapses_back() -> None:
    """Three lapses and 40 passes in four years, and then a fail: that is not a flake."""
    rare = ("pp" + "f") * 3 + "p" * 40 + "f"
    assert lived(rare, Quarantine(4, "us")).quarantined is None
    assert lived(rare).lapses == 1
    assert lived("ppf" + "p" * 4).lapses == 1
    assert lived("ppf" + "p" * 5).lapses == 0


def test_a_flake_is_set_apart_all_the_same() -> None:
    assert lived("ppf" * 4, Quarantine(4, "us"), every=3).quarantined == TODAY + days(33)


def test_quarantine_has_an_end_and_then_a_fail_counts_again() -> None:
    apart = lived("ppf" * 4, Quarantine(4, "us"), every=3)
    assert (apart.quarantined, apart.until, apart.owner) == (TODAY + days(33), TODAY + days(63), "us")
    assert released(apart, TODAY + days(63)) == apart
    free = released(apart, TODAY + days(64))
    assert (free.quarantined, free.until, free.owner, free.lapses) == (None, None, None, 0)
    later = review(apart, trial("a", FAILED), TODAY + days(64), Quarantine(4, "us"))
    assert later is not None
    assert (later.quarantined, later.lapses) == (None, 0)
    # What an earlier version has set apart has no end of its own.
    old = apart._replace(until=None)
    assert released(old, TODAY + days(63)) == old
    assert released(old, TODAY + days(64)).quarantined is None


@pytest.mark.parametrize(
    ("touched", "pr", "reason", "kept"),
    [
        ((), "12", "affected", True),
        ((), "12", "judged again", True),
        (("11",), "12", "due", True),
        ((), "12", "due", False),
        (("11",), None, "due", False),
    ],
)
@pytest.mark.parametrize("due", [0, 5])
def test_a_pass_in_a_pull_request_that_touches_a_case_leaves_what_it_passed_under(
    touched: tuple[str, ...], pr: str | None, reason: str, kept: bool, due: int
) -> None:
    before = row(3, due, passed_under="case=1")._replace(touched=touched)
    after = review(before, trial("a", PASSED, pr=pr, reason=reason, under="case=2"), TODAY)
    assert after is not None
    assert after.passed_under == ("case=1" if kept else "case=2")
