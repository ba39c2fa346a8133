"""Tests of core.horizon.calendar."""

from __future__ import annotations

from datetime import date, timedelta

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.persona import Calendar

DATES = st.dates(date(2008, 1, 1), date(2040, 1, 1))


@given(DATES, st.integers(1, 2000))
def test_a_day_is_so_many_days_after_the_first(epoch: date, day: int) -> None:
    assert Calendar(epoch).date_of(day) == epoch + timedelta(days=day - 1)


@given(DATES, st.integers(1, 2000))
def test_the_legacy_map_is_late_by_a_day_at_most(epoch: date, day: int) -> None:
    right, legacy = Calendar(epoch), Calendar(epoch, "legacy-dst")

    assert right.date_of(day) - legacy.date_of(day) in (timedelta(0), timedelta(days=1))
    assert legacy.date_of(1) == epoch


def test_the_legacy_map_has_the_day_that_clocks_go_forward_twice_and_skips_the_one_they_go_back() -> None:
    legacy = Calendar(date(2026, 1, 1), "legacy-dst")

    assert [legacy.date_of(day).isoformat() for day in (66, 67, 68, 69)] == [
        "2026-03-07", "2026-03-08", "2026-03-08", "2026-03-09",
    ]  # fmt: skip
    dates = {legacy.date_of(day) for day in range(1, 400)}
    assert date(2026, 11, 1) not in dates
    assert legacy.date_of(306) == date(2026, 11, 2)


def test_weekdays_are_those_of_the_date() -> None:
    calendar = Calendar(date(2026, 1, 1))

    assert calendar.weekday_of(1) == "Thursday"
    assert [calendar.is_weekend(day) for day in (2, 3, 4, 5)] == [False, True, True, False]


@given(st.dates(date(2010, 4, 1), date(2010, 10, 1)), st.integers(1, 2000))
def test_a_story_that_begins_in_summer_has_the_same_dates_by_both_maps(epoch: date, day: int) -> None:
    assert Calendar(epoch, "legacy-dst").date_of(day) == Calendar(epoch).date_of(day)


@given(DATES, st.integers(1, 2000))
def test_in_winter_both_maps_agree(epoch: date, day: int) -> None:
    found = Calendar(epoch).date_of(day)
    if found.month in (12, 1, 2):
        assert Calendar(epoch, "legacy-dst").date_of(day) == found
