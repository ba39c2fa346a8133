"""How the cases stand, and what the calendar holds."""

from __future__ import annotations

import json

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.schedule.boxes import reset
from pytest_recall.schedule.forecast import Freshness, WarmUp, forecast, freshness, left_out, warm_up, without_verdict
from pytest_recall.schedule.schedule_text import WIDTH, terminal
from pytest_recall.schedule.selection import Unanswered
from pytest_recall.trials.trial import Trial
from tests.helpers.samples import ERROR, PASSED, TODAY, days, failing, header, row, trial

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
    }


def test_nothing_yet() -> None:
    found = forecast([], {}, TODAY, 1)
    assert (found.boxes, found.unseen, found.due) == ({1: 0, 2: 0, 3: 0, 4: 0, 5: 0}, 0, {TODAY: 0})


def test_a_reset_neither_fails_a_case_nor_heals_it() -> None:
    before = {"a": row(4, 4, last_model="m1"), "b": failing(last_model="m1"), "c": row(1, 1, last_model="m1")}
    again = {**before, **reset(before, "m2", TODAY)}
    assert {case_id: (r.box, r.pass_streak) for case_id, r in again.items()} == {"a": (1, 0), "b": (1, 0), "c": (1, 0)}
    assert forecast(again, again, TODAY, 1).failing == ("b",)


# How long a new set takes to be known


NIGHTS = Settings(owner="x", nightly_cases=58)


def test_a_run_takes_five_new_cases() -> None:
    assert warm_up(800, 800, DEFAULT_SETTINGS, TODAY) == WarmUp(800, 800, 160, 160, TODAY + days(160))
    never = DEFAULT_SETTINGS.model_copy(update={"new_traffic_sample": 0})
    assert warm_up(800, 800, never, TODAY) == WarmUp(800, 800, None, None, None)


def test_a_night_that_is_filled_takes_as_many() -> None:
    assert warm_up(800, 800, NIGHTS, TODAY) == WarmUp(800, 800, 160, 14, TODAY + days(14))


def test_a_set_that_is_known_or_soon_will_be_needs_none() -> None:
    assert warm_up(400, 800, NIGHTS, TODAY) is None
    assert warm_up(50, 50, NIGHTS, TODAY) is None
    assert warm_up(0, 0, NIGHTS, TODAY) is None


# The forecast as lines


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


def test_lines_of_nothing_yet() -> None:
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


# How old the verdicts are after a run: of those that were chosen, and of those that were left out


OLD = row(3, tested=TODAY - days(20), due=TODAY - days(13))
YOUNG = row(3, tested=TODAY - days(2), due=TODAY + days(5))


def test_cases_without_a_verdict_begin_with_those_that_are_waived() -> None:
    found = without_verdict(
        {
            "once": Unanswered(TODAY),
            "rests": Unanswered(TODAY, days=3),
            "twice": Unanswered(TODAY, days=2),
            "waived": Unanswered(TODAY, days=0, waived="ana in #7"),
        }
    )
    assert [name.partition(" (")[0] for name in found.partition(": ")[2].split("), ")] == [
        *("waived", "rests", "twice", "once")
    ]
    assert "ana in #7" in found
    assert f"{TODAY + days(4)}" in found.partition("rests")[2].partition("twice")[0]
    assert f"{TODAY}" not in found, "after a single day a case does not rest"


def test_what_is_left_out() -> None:
    rows = {"old": OLD, "young": YOUNG, "stuck": OLD}
    found = left_out(["old", "young", "stuck", "new"], rows, {"stuck": Unanswered(TODAY, 2)}, TODAY)
    assert found == (TODAY - days(20), "old", 1)
    assert left_out(["new"], rows, {}, TODAY) == (None, "", 0)


def after(*trials: Trial, not_run: int = 0, **more: object) -> Freshness | None:
    """Return what is known after these trials of a run that left `young` out."""
    facts = {"oldest": (TODAY - days(2)).isoformat(), "oldest_case": "young", "overdue": 0, **more}
    return freshness(header(**facts), {one.case_id: one for one in trials}, not_run)


def test_a_verdict_is_of_today_and_an_error_leaves_the_one_before() -> None:
    assert after(trial("a", PASSED, row=OLD)) == (TODAY - days(2), "young", 2, 0, {}, False)
    found = after(trial("a", ERROR, row=OLD), trial("b", row=None), not_run=1)
    assert found == (TODAY - days(20), "a", 20, 1, {"a": Unanswered(TODAY)}, True)
    # A replayed answer is no evidence, and of no age.
    replayed = after(trial("a", PASSED, row=OLD, counts_for_schedule=False, source="replayed"))
    assert replayed is not None
    assert (replayed.age, replayed.overdue) == (20, 1)


def test_after_a_run_of_all_cases_the_oldest_verdict_is_of_today() -> None:
    found = after(trial("a", PASSED, row=OLD), oldest="", oldest_case="")
    assert found == (TODAY, "a", 0, 0, {}, False)


def test_what_rests_is_not_overdue() -> None:
    before = (("a", (TODAY - days(9)).isoformat(), 3, ""), ("w", (TODAY - days(9)).isoformat(), 3, "ann for #7"))
    found = after(trial("a", ERROR, row=OLD), trial("w", ERROR, row=OLD), unanswered=before)
    assert found is not None
    # What is waived waits for the next run.
    assert (found.overdue, found.unanswered) == (
        1,
        {"a": Unanswered(TODAY, 4), "w": Unanswered(TODAY, 4, "ann for #7")},
    )


def test_nothing_is_known_of_a_run_of_an_earlier_version() -> None:
    assert freshness(header(), {}, 0) is None
    assert after(trial("a"), scheduled=False) is None
    nothing = after(oldest="", oldest_case="")
    assert nothing is not None
    assert nothing.age is None
