"""Facts: values, dates and names found by their form."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.facts import Evidence, dates, missing, names, revealed, times, values, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from $420M to $475 million", [("420", "m"), ("475", "m")]),
        ("a range of $620M-$760M", [("620", "m"), ("760", "m")]),
        ("$1,250.50 in all", [("1250.5", "")]),
        ("3.2x leverage, 12 percent, 40 %", [("3.2", "x"), ("12", "%"), ("40", "%")]),
        ("34 frames on 2026-01-05 at 6:30", []),
        ("version 4.5.1m and Q3", []),
    ],
)
def test_values_are_numbers_with_what_they_count(text: str, found: list[tuple[str, str]]) -> None:
    assert [(value.number, value.unit) for value in values(text)] == found


def test_times_and_dates() -> None:
    assert times("at 06:30 AM or 18:05, not 99:99 or 1:2") == ["6:30", "18:05"]
    assert dates("2026-02-30 is none, 2026-02-28 is one, 12026-02-28 is none") == [date(2026, 2, 28)]


def test_names_are_capitals_side_by_side_without_the_words_a_question_begins_with() -> None:
    assert names("What did Dov Lind of Millgate House say on Tuesday 2026?") == ["Dov Lind", "Millgate House"]
    assert names("In January Ada spoke") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did Ben Okoro say on Jan 21?", ["Ben Okoro"]),
        ("On Sept 3rd Ben Okoro said", ["Ben Okoro"]),
        ("Tue Mar 5, Wed. 12 and Nov 2026", []),
        ("Which Q3 FY27 plan of Project Condor was kept?", ["Project Condor"]),
        ("Was the FY-2027 H1 budget of Sales Ops Q2 kept?", ["Sales Ops"]),
        ("Did Jun Tanaka come?", ["Jun Tanaka"]),
        ("Tue Ada Lind, EOD Friday, Spring 2026, Day 21 and Jan-Feb 2026", ["Ada Lind"]),
        ("On January 21 2026, at 9:30 AM ET, Fri Jan 23", []),
    ],
)
def test_dates_and_parts_of_years_are_no_names(text: str, found: list[str]) -> None:
    assert names(text) == found


def test_words_are_without_those_of_any_text() -> None:
    assert words("What was Ada’s offer for the yard?") == ["ada", "offer", "yard"]


def test_a_date_may_be_written_with_the_name_of_its_month() -> None:
    there = Evidence(["Signed on January 5th."], [date(2026, 1, 9)])
    assert there.has_date(date(2026, 1, 5))
    assert there.has_date(date(2026, 1, 9))
    assert not there.has_date(date(2026, 1, 6))


def test_the_first_number_of_a_range_needs_no_unit() -> None:
    assert missing("$420M, $475M, $480M", [Evidence(["between 420 and $475 million"])]) == ["$480M"]


@given(st.lists(st.text(max_size=60), max_size=4))
def test_a_text_misses_nothing_of_its_own(texts: list[str]) -> None:
    assert missing("\n\n".join(texts), [Evidence(texts)]) == []


def test_a_part_of_a_year_that_only_the_forbidden_text_has_is_told() -> None:
    said = ["The target closes in Q3 FY27."]
    assert revealed("I must not say that it closes in Q3 FY27.", "When does it close?", said) == ["Q3 FY27"]
    assert revealed("I cannot tell what comes in Q3 FY27.", "What comes in Q3 FY27?", said) == []
