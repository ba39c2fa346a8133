"""Dates in texts that contradict the calendar."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.horizon.day import parts_of
from pytest_recall.horizon.leaks import date_findings, map_findings
from pytest_recall.horizon.persona import Calendar

YEAR = Calendar(date(2026, 1, 1))


def of_text(text: str, day: int = 5, calendar: Calendar = YEAR) -> list[tuple[str, int]]:
    """Return which rules a text breaks, and on which lines."""
    (part,) = parts_of(day, f"# session: principal\n{text}\n")
    return [(one.rule, one.line) for one in date_findings(calendar, part)]


@pytest.mark.parametrize(
    "text",
    [
        "Friday, January 2, 2026",
        "Fri 2026-01-02",
        "2026-01-02 (Friday)",
        "Friday (2026-01-02)",
        "January 2nd, 2026, Friday",
        "on Thursday, and on 2026-01-02",
        "today is 2026-01-05",
        "Today, Monday, 2026-01-05",
        "version 2026-01",
        "month 12 of 2026",
    ],
)
def test_dates_that_are_right_are_passed_over(text: str) -> None:
    assert of_text(text) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Monday, January 2, 2026", "weekday"),
        ("Thu. 2026-01-02", "weekday"),
        ("2026-01-02 (Saturday)", "weekday"),
        ("January 2, 2026 (Sunday)", "weekday"),
        ("Today is 2026-01-04", "today"),
        ("due on 2026-02-30", "date"),
        ("since 2019-03-01", "far-date"),
    ],
)
def test_dates_that_are_wrong_are_found_on_their_line(text: str, rule: str) -> None:
    assert of_text(f"\n### Notes\n\nIt is {text}.") == [(rule, 5)]


@settings(deadline=None, database=None)
@given(
    st.integers(1, 400), st.integers(-300, 300), st.sampled_from(["{:%A}, {:%B} {:%d}, {:%Y}", "{:%Y-%m-%d} ({:%a})"])
)
def test_what_the_calendar_itself_says_is_never_wrong(day: int, away: int, shape: str) -> None:
    told = YEAR.date_of(max(1, day + away))
    assert of_text(shape.format(*[told] * 4), day) == []


def texts(dates: Calendar) -> dict[int, str]:
    """Return a year whose texts name their date and weekday."""
    return {day: f"On {dates.weekday_of(day)} {dates.date_of(day)} all was well." for day in range(1, 366)}


def test_texts_that_are_dated_the_other_way_are_found_by_both_maps() -> None:
    legacy = YEAR._replace(dates="legacy-dst")
    assert list(map_findings(YEAR, texts(YEAR))) == list(map_findings(legacy, texts(legacy))) == []
    (found,) = map_findings(YEAR, texts(legacy))
    assert (found.severity, found.rule, found.day) == ("error", "calendar", 68)
    assert "`--dates legacy-dst`" in found.message
    (found,) = map_findings(legacy, texts(YEAR))
    assert "`--dates calendar`" in found.message


def test_texts_without_weekdays_say_nothing_of_the_map() -> None:
    only = {day: f"As on {YEAR.date_of(day - 1)}." for day in range(2, 366)}
    assert list(map_findings(YEAR, only)) == []


def test_a_wrong_today_that_the_other_map_explains_is_told_so() -> None:
    (part,) = parts_of(70, "# session: principal\nToday is 2026-03-10\n")
    (found,) = date_findings(YEAR, part)
    assert "this day is 2026-03-11; correct it, or take `--dates legacy-dst`" in found.message
