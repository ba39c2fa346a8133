"""History: the verdicts between two states of a row, told from the row alone."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.boxes import reset
from pytest_recall.schedule.merge import RowStep, between, last_step, replayed
from pytest_recall.trials.trial import Row
from tests.helpers.samples import FAILED, PASSED, TODAY, days, failing, row, rows, trial, unhurried
from tests.schedule.steps import QUARANTINE, histories, step


def told(found: list[RowStep] | None) -> list[tuple[int, str]]:
    """Return the steps as days from today and outcomes."""
    assert found is not None
    return [((one.date - TODAY).days, "reset" if one.trial is None else one.trial.outcome.value) for one in found]


@unhurried
@given(histories(), st.booleans(), st.integers(0, 40))
def test_one_verdict_is_found_exactly(before: list[RowStep], passed: bool, gap: int) -> None:
    base = replayed(None, before, QUARANTINE)
    first = base.last_tested if base else TODAY
    one = step(first + days(gap), passed, "77")
    after = replayed(base, [one], QUARANTINE)
    assert after is not None
    found = between(base, after, QUARANTINE)
    if after == base:
        return
    assert found is not None
    assert [(found_step.date, found_step.drops) for found_step in found] == [(one.date, one.drops)]
    assert found[0].trial is not None
    assert found[0].trial.pr == "77"


@unhurried
@given(histories(), histories())
def test_what_is_found_leads_to_the_row(before: list[RowStep], since: list[RowStep]) -> None:
    base = replayed(None, before, QUARANTINE)
    last = before[-1].date if before else TODAY
    later = [one._replace(date=one.date + (last - TODAY)) for one in since]
    after = replayed(base, later, QUARANTINE)
    if after is None or after == base:
        return
    found = between(base, after, QUARANTINE)
    if found is not None:
        again = replayed(base, found, QUARANTINE)
        assert again is not None
        assert again[:8] == after[:8]


def test_an_early_pass_is_found_behind_the_one_that_promoted() -> None:
    base = row(2, 2)
    after = replayed(base, [step(TODAY, True), step(TODAY + days(2), True)])
    assert after is not None
    assert told(between(base, after)) == [(0, "passed"), (2, "passed")]


def test_a_fail_before_the_passes_is_found_by_the_lapse() -> None:
    base = row(3, 3)
    steps = [step(TODAY, False), step(TODAY + days(1), True), step(TODAY + days(4), True)]
    after = replayed(base, steps)
    assert after is not None
    # No one knows the days of the fail and of the first pass: they are taken to be late.
    assert told(between(base, after)) == [(1, "failed"), (1, "passed"), (4, "passed")]


def test_several_lapses_are_found() -> None:
    base = row(3, 3)
    steps = [step(TODAY, False), step(TODAY + days(1), True), step(TODAY + days(2), False)]
    after = replayed(base, steps)
    assert after is not None
    found = between(base, after)
    assert found is not None
    assert replayed(base, found) == after


def test_a_reset_is_told_from_a_fail_by_the_missing_lapse() -> None:
    base = row(4, 4, last_model="m1", due=TODAY + days(9))
    swapped = reset({"a": base}, "m2", TODAY)["a"]
    assert told(between(base, swapped)) == [(0, "reset")]
    after = replayed(swapped, [step(TODAY, True)])
    assert after is not None
    assert told(between(base, after)) == [(0, "reset"), (0, "passed")]


def test_what_no_verdict_does_is_not_explained() -> None:
    assert between(row(2, 2), row(4, 2)) is None
    assert between(row(2, 2), row(2, 2, due=TODAY + days(3))) is None


def test_a_row_that_was_released_by_hand_is_explained_by_its_verdicts() -> None:
    base = row(3, 3, lapses=4, quarantined=TODAY - days(9), owner="ana")
    after = replayed(base, [step(TODAY, True)])
    assert after is not None
    released = after._replace(lapses=0, quarantined=None, owner=None)
    assert told(between(base, released, Quarantine(4, "ana"))) == [(0, "passed")]


@unhurried
@given(st.none() | rows(), rows())
def test_any_two_rows_are_explained_or_not_without_a_crash(before: Row | None, after: Row) -> None:
    between(before, after, QUARANTINE)


@pytest.mark.parametrize("day", [date.min, date.max])
def test_days_at_the_end_of_the_calendar(day: date) -> None:
    assert between(None, Row(4, 4, day, day)) is None


def test_the_last_step_is_the_rows_last_verdict() -> None:
    known = failing(last_pr="3", last_model="m", failure_pr="3", tested=TODAY)
    one = last_step(known)
    assert one.trial is not None
    assert (one.date, one.trial.outcome, one.trial.note) == (TODAY, FAILED, known.failure_note)
    passed = last_step(row(tested=TODAY, last_pr="3"))
    assert passed == RowStep(TODAY, trial("", PASSED, pr="3"))
