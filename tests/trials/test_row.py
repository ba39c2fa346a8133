"""A row, its calendar and its JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from pytest_recall.trials.trial import Row
from tests.helpers.samples import TODAY, days, failing, row, rows, unhurried


@pytest.mark.parametrize(("later", "due"), [(-1, True), (0, True), (1, False)])
def test_due_from_its_day_on(later: int, due: bool) -> None:
    assert row(due=TODAY + days(later)).is_due(TODAY) is due


def test_a_case_fails_as_long_as_its_note_stands() -> None:
    assert failing().failing
    assert not row(1, 1).failing
    assert not row(1, 0).failing, "a reset sets the streak to 0 as well"


def test_json_leaves_out_what_is_not_set() -> None:
    assert row(2, 3, tested=TODAY, due=TODAY + days(3)).to_json() == {
        "box": 2,
        "pass_streak": 3,
        "last_tested": "2026-03-10",
        "next_due": "2026-03-13",
    }


def test_json_keeps_a_streak_of_none() -> None:
    assert row(1, 0).to_json()["pass_streak"] == 0


@unhurried
@given(rows())
def test_json_round_trip(some: Row) -> None:
    assert Row.from_json(json.loads(json.dumps(some.to_json()))) == some


def test_fields_of_a_later_version_are_passed_over() -> None:
    assert Row.from_json({**row().to_json(), "mood": "good"}) == row()


@pytest.mark.parametrize("field", ["box", "pass_streak", "last_tested", "next_due"])
def test_json_without_a_field_is_no_row(field: str) -> None:
    plain = row().to_json()
    del plain[field]
    with pytest.raises((KeyError, TypeError)):
        Row.from_json(plain)


def test_json_with_a_broken_date_is_no_row() -> None:
    with pytest.raises(ValueError, match="soon"):
        Row.from_json({**row().to_json(), "next_due": "soon"})
