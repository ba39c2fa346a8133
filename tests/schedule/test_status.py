"""The forecast as lines."""

from __future__ import annotations

from dataclasses import replace

from pytest_recall.schedule.forecast import forecast
from pytest_recall.schedule.schedule_text import WIDTH, terminal
from tests.helpers.samples import TODAY, days, failing, row


def test_boxes_and_calendar() -> None:
    rows = {
        "a": failing(due=TODAY),
        "b": row(2, 2, due=TODAY - days(1)),
        "c": row(2, 2, due=TODAY + days(1)),
        "gone": row(),
    }
    assert list(terminal(forecast(["a", "b", "c", "new"], rows, TODAY, 2))) == [
        "4 cases on 2026-03-10",
        "  box 1, every  1 d      1  " + "█" * (WIDTH // 2),
        "  box 2, every  3 d      2  " + "█" * WIDTH,
        "  box 3, every  7 d      0",
        "  box 4, every 14 d      0",
        "  box 5, every 30 d      0",
        "  never seen             1  " + "█" * (WIDTH // 2),
        "",
        "due by day, over 2 days",
        "  overdue               1  " + "█" * WIDTH,
        "  2026-03-10 Tue        1  " + "█" * WIDTH,
        "  2026-03-11 Wed        1  " + "█" * WIDTH,
        "",
        "last verdict was a fail (1): a",
        "",
        "rows without a case in the case files (1): gone",
    ]


def test_nothing_yet() -> None:
    lines = list(terminal(forecast([], {}, TODAY, 1)))
    assert lines[0] == "0 cases on 2026-03-10"
    assert not any("█" in line for line in lines)
    assert lines[-1] == "  2026-03-10 Tue        0"


def test_a_bar_is_never_empty_and_never_too_long() -> None:
    rows = {f"c{number}": row(2, 2, due=TODAY + days(1)) for number in range(1000)} | {"a": row(1, 0, due=TODAY)}
    lines = list(terminal(forecast(rows, rows, TODAY, 2)))
    bars = [line.count("█") for line in lines if "█" in line]
    assert bars == [1, WIDTH, 1, WIDTH]
    assert "  box 2, every  3 d  1,000  " + "█" * WIDTH in lines


def test_a_budget_and_what_it_has_left_unasked() -> None:
    found = forecast(["a", "b"], {"a": row()}, TODAY, 1)
    assert found.to_json()["bank"] is None
    found = replace(found, deferred={"a": ("12", "0123456789ab")}, bank=(2.354, 7))
    assert list(terminal(found))[-3:] == [
        "budget: $2.35 of at most $7.00 in the bank",
        "",
        "deferred (1), which the next night asks first: a (by #12, 0123456789ab)",
    ]
    told = found.to_json()
    assert (told["bank"], told["deferred"]) == ({"left": 2.354, "most": 7}, {"a": ["12", "0123456789ab"]})
