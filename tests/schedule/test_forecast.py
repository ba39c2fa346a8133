"""How the cases stand, and what the calendar holds."""

from __future__ import annotations

import json

from pytest_recall.schedule.boxes import reset
from pytest_recall.schedule.forecast import forecast
from tests.helpers.samples import TODAY, days, failing, row

ROWS = {
    "a": failing(due=TODAY),
    "b": row(2, 2, due=TODAY - days(1)),
    "c": row(2, 2, due=TODAY + days(2)),
    "d": row(5, 9, due=TODAY + days(3)),
    "gone": failing(due=TODAY),
    "away": row(3, 3, due=TODAY + days(2)),
}


def test_boxes_calendar_and_lists() -> None:
    found = forecast({"a", "b", "c", "d", "new", "newer"}, ROWS, TODAY, 3)
    assert found.boxes == {1: 1, 2: 2, 3: 0, 4: 0, 5: 1}
    assert found.unseen == 2
    assert found.overdue == 1
    assert found.due == {TODAY: 1, TODAY + days(1): 0, TODAY + days(2): 1}
    assert found.failing == ("a",)
    assert found.orphans == ("away", "gone")


def test_json() -> None:
    plain = forecast(["a", "new"], ROWS, TODAY, 2).to_json()
    assert json.loads(json.dumps(plain)) == {
        "date": "2026-03-10",
        "boxes": {"1": 1, "2": 0, "3": 0, "4": 0, "5": 0},
        "unseen": 1,
        "overdue": 0,
        "due": {"2026-03-10": 1, "2026-03-11": 0},
        "failing": ["a"],
        "orphans": ["away", "b", "c", "d", "gone"],
        "unanswered": {},
        "deferred": {},
        "bank": None,
    }


def test_nothing_yet() -> None:
    found = forecast([], {}, TODAY, 1)
    assert (found.boxes, found.unseen, found.due) == ({1: 0, 2: 0, 3: 0, 4: 0, 5: 0}, 0, {TODAY: 0})


def test_a_reset_neither_fails_a_case_nor_heals_it() -> None:
    before = {"a": row(4, 4, last_model="m1"), "b": failing(last_model="m1"), "c": row(1, 1, last_model="m1")}
    again = {**before, **reset(before, "m2", TODAY)}
    assert {case_id: (r.box, r.pass_streak) for case_id, r in again.items()} == {"a": (1, 0), "b": (1, 0), "c": (1, 0)}
    assert forecast(again, again, TODAY, 1).failing == ("b",)
