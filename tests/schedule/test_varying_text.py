"""What differs in requests by itself is learned with the words beside it; what may be a question is not."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.matching import Rules
from pytest_recall.schedule.varying_text import learned


def line(before: str, after: str) -> str:
    return f"messages[0].content: “{before}” → “{after}”"


def same(patterns: tuple[str, ...], one: str, other: str) -> bool:
    rules = Rules(texts=patterns)
    return rules.text(one) == rules.text(other)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Today is 2026-11-17. Be kind", "Today is 2026-11-24. Be kind"),
        ("It is Tuesday, 17 November 2026, 12:03", "It is Friday, 4 December 2026, 9:01"),
        ("2026-11-17T09:00:00Z", "2026-11-24T10:30:01Z"),
        ("request 0f8fad5b-d9cb-469f-a165-70867728950e of us", "request 7c9e6679-7425-40de-944b-e07fc1f90ae7 of us"),
        ("id req_9f8a7c6b5d4e", "id req_1f8a7c6b5d4e"),
        ("order 17 of 20", "order 18 of 20"),
        ("17 of them", "18 of them"),
    ],
)
def test_dates_times_ids_and_numbers_are_learned(before: str, after: str) -> None:
    patterns = learned([line(before, after)])
    assert patterns
    assert same(patterns, before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("say a", "tell a"),
        ("tags: b, a", "tags: a, b"),
        ("Today is 2026-11-17", "Today is the day"),
        ("one 1", "one 1 more"),
        ("order (17) of us", "order [18] of us"),
        ("17 more…", "18 more…"),
    ],
)
def test_what_may_be_asked_is_not_learned(before: str, after: str) -> None:
    assert learned([line(before, after)]) == ()


def test_one_line_that_is_not_learned_spoils_the_others() -> None:
    known = line("Today is 2026-11-17", "Today is 2026-11-24")
    assert learned([known])
    assert learned([known, line("say a", "tell a")]) == ()
    assert learned([known, "x: not recorded → “y”"]) == ()


def test_the_same_kind_in_another_place_is_told_apart() -> None:
    patterns = learned(
        [line("Today is 2026-11-17. Valid until 2027-01-01.", "Today is 2026-11-24. Valid until 2027-01-01.")]
    )
    assert same(patterns, "Today is 2026-01-01. Be kind", "Today is 2026-02-02. Be kind")
    assert not same(patterns, "Valid until 2027-01-01.", "Valid until 2028-01-01.")


@given(st.dates(), st.dates(), st.text("abc xyz.", min_size=3, max_size=30), st.text("abc xyz.", max_size=30))
def test_a_date_within_any_words_is_learned_and_hides_no_word(one: date, other: date, left: str, right: str) -> None:
    before, after = f"q {left} {one.isoformat()} {right}", f"q {left} {other.isoformat()} {right}"
    patterns = learned([line(before, after)]) if one != other else ()
    if one == other:
        return
    assert same(patterns, before, after)
    assert not same(patterns, before, f"{after} and more")
    assert not same(patterns, before, re.sub("^q", "why", after))
