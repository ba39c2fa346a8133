"""The rule of the schedule against the same rule said a second time, and what no order may change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS, MODES, Mode, Settings
from pytest_recall.schedule.boxes import AFFECTED, DATASET, REJUDGED
from pytest_recall.schedule.selection import (
    SHARE,
    Pick,
    Remainder,
    Unanswered,
    choose,
    remainder,
    shuffle_key,
    unanswered_after,
    with_changes,
)
from pytest_recall.trials.trial import Outcome, Row
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
    printed_alike,
    row,
    row_maps,
    trial,
    unhurried,
)

id_sets = st.sets(case_ids, max_size=40)
modes = st.sampled_from(MODES)
seeds = st.sampled_from(["1", "2", "2026-03-10"])
rubrics = st.builds(
    Settings,
    owner=st.just("x"),
    max_due_cases=st.integers(0, 2) | st.integers(0, 8),  # Few, so that some that are due are left.
    box_1_cases=st.none() | st.integers(0, 4),
    new_traffic_sample=st.integers(0, 8),
    nightly_cases=st.none() | st.integers(1, 30),
)
affected_maps = st.dictionaries(case_ids, st.sampled_from([AFFECTED, REJUDGED]), max_size=8)
waiting_maps = st.dictionaries(case_ids, st.builds(Unanswered, dates, st.integers(1, 6)), max_size=20)


def chosen(cases: Iterable[str], rows: Mapping[str, Row], mode: Mode = "pr", **knobs: Any) -> list[tuple[str, str]]:
    """Return the picks of today with seed 1 as plain pairs."""
    picks = choose(cases, rows, Settings(owner="x", **knobs), mode, TODAY, "1")
    return [(pick.case_id, pick.reason) for pick in picks]


# The rules, by hand

ROWS = {
    "box1-later": row(1, 1, due=TODAY + days(1)),
    "box1-due": row(1, 0, due=TODAY),
    "old": row(4, 4, due=TODAY - days(9)),
    "today": row(2, 2, due=TODAY),
    "older": row(3, 3, due=TODAY - days(10)),
    "later": row(2, 2, due=TODAY + days(1)),
    "gone": row(1, 0, due=TODAY),
}
CASES = ["later", "today", "new", "old", "older", "box1-due", "box1-later"]


def test_pull_request_runs_box_1_then_the_oldest_due_then_new_ones() -> None:
    assert chosen(CASES, ROWS) == [
        ("box1-due", "box 1"),
        ("box1-later", "box 1"),
        ("older", "due"),
        ("old", "due"),
        ("today", "due"),
        ("new", "new"),
    ]


def test_night_runs_all_that_is_due_and_new_ones() -> None:
    assert chosen(CASES, ROWS, "nightly") == [
        ("older", "due"),
        ("old", "due"),
        ("box1-due", "due"),
        ("today", "due"),
        ("new", "new"),
    ]


@pytest.mark.parametrize("mode", ["all", "observe"])
def test_all_runs_everything(mode: Mode) -> None:
    assert chosen(CASES, ROWS, mode) == [(case, "all") for case in sorted(CASES)]


def test_what_the_change_affects_comes_first_and_takes_no_place_of_others() -> None:
    affected = {"old": AFFECTED, "box1-due": REJUDGED, "later": AFFECTED, "elsewhere": AFFECTED}
    rubric = Settings(owner="x", max_due_cases=2, box_1_cases=1)
    picks = choose(CASES, ROWS, rubric, "pr", TODAY, "1", affected=affected)
    assert picks == [
        Pick("later", AFFECTED),
        Pick("old", AFFECTED),
        Pick("box1-due", REJUDGED),
        Pick("box1-later", "box 1"),
        Pick("older", "due"),
        Pick("today", "due"),
        Pick("new", "new"),
    ]


def test_the_default_branch_asks_what_its_recordings_do_not_have_and_a_night_begins_with_it() -> None:
    affected = {"old": AFFECTED, "later": REJUDGED, "elsewhere": AFFECTED}
    main = [Pick("old", AFFECTED), Pick("later", REJUDGED)]
    assert choose(CASES, ROWS, DEFAULT_SETTINGS, "main", TODAY, "1", affected=affected) == main
    assert choose(CASES, ROWS, DEFAULT_SETTINGS, "main", TODAY, "1") == []
    rest = [("older", "due"), ("box1-due", "due"), ("today", "due"), ("new", "new")]
    night = Settings(owner="x", nightly_cases=6)
    assert choose(CASES, ROWS, night, "nightly", TODAY, "1", affected=affected) == [
        *main,
        *(Pick(*one) for one in rest),
    ]


def test_each_kind_has_its_own_cap() -> None:
    assert chosen(CASES, ROWS, max_due_cases=1) == [
        ("box1-due", "box 1"),
        ("box1-later", "box 1"),
        ("older", "due"),
        ("new", "new"),
    ]
    assert [case for case, _ in chosen(CASES, ROWS, max_due_cases=0)] == ["box1-due", "box1-later", "new"]
    # What failed first, then what was tested longest ago: both failed here, and the same day.
    assert [case for case, why in chosen(CASES, ROWS, box_1_cases=0)] == ["older", "old", "today", "new"]


def test_the_caps_are_those_of_a_pull_request() -> None:
    assert chosen(CASES, ROWS, "nightly", max_due_cases=0, box_1_cases=0) == chosen(CASES, ROWS, "nightly")


def test_a_night_fills_and_never_caps_what_is_due() -> None:
    night = chosen(CASES, ROWS, "nightly")
    for size in (1, 4, 5):
        assert chosen(CASES, ROWS, "nightly", nightly_cases=size) == night
    filled = chosen([*CASES, "new-2"], ROWS, "nightly", nightly_cases=7, new_traffic_sample=1)
    assert [reason for _, reason in filled] == [*["due"] * 4, "new", "new", "oldest verdict"]
    rows = {**ROWS, "later": row(2, 2, due=TODAY + days(1), tested=TODAY - days(40))}
    assert chosen(CASES, rows, "nightly", nightly_cases=6)[-1] == ("later", "oldest verdict")
    assert len(chosen(CASES, ROWS, "nightly", nightly_cases=99)) == len(CASES)


def test_rows_due_on_the_same_day_are_taken_by_id() -> None:
    rows = {name: row(2, 2) for name in "cab"}
    assert chosen(["b", "c", "a"], rows, max_due_cases=2) == [("a", "due"), ("b", "due")]


def test_by_default_25_due_and_5_new() -> None:
    cases = [f"due-{number:03}" for number in range(100)] + [f"new-{number:03}" for number in range(100)]
    rows = {case: row(3, 3, due=TODAY - days(1)) for case in cases[:100]}
    picks = choose(cases, rows, DEFAULT_SETTINGS, "pr", TODAY, "1")
    assert [pick.reason for pick in picks] == ["due"] * 25 + ["new"] * 5
    assert [pick.case_id for pick in picks[:25]] == cases[:25]
    night = choose(cases, rows, DEFAULT_SETTINGS, "nightly", TODAY, "1")
    assert [pick.reason for pick in night] == ["due"] * 100 + ["new"] * 5


@unhurried
@given(st.integers(0, 30), st.integers(0, 20))
def test_box_1_has_a_cap_and_those_that_failed_come_first(passed: int, failed: int) -> None:
    rows = {f"p{n}": row(1, due=TODAY) for n in range(passed)} | {f"f{n}": failing() for n in range(failed)}
    picks = [case for case, _ in chosen(rows, rows, box_1_cases=10)]
    assert len(picks) == min(passed + failed, 10)
    assert sum(name[0] == "f" for name in picks) == min(failed, 10)


def test_nothing_due_is_nothing_chosen() -> None:
    rows = {name: row(2, 2, due=TODAY + days(1)) for name in "ab"}
    assert chosen(["a", "b"], rows) == chosen(["a", "b"], rows, "nightly") == chosen([], rows, "all") == []


def test_rows_without_a_case_are_passed_over() -> None:
    assert chosen([], ROWS) == []


def test_the_seed_draws_the_new_ones() -> None:
    cases = [f"new-{number:03}" for number in range(100)]
    draws = [[pick.case_id for pick in choose(cases, {}, DEFAULT_SETTINGS, "pr", TODAY, seed)] for seed in "12"]
    assert draws == [
        ["new-091", "new-035", "new-062", "new-026", "new-022"],
        ["new-091", "new-052", "new-011", "new-088", "new-054"],
    ]


def test_the_seed_touches_nothing_else() -> None:
    slices = [choose(CASES, ROWS, DEFAULT_SETTINGS, "pr", TODAY, seed) for seed in "123"]
    assert slices[0] == slices[1] == slices[2]


def test_the_draw_has_no_favourites() -> None:
    cases = [f"new-{number:02}" for number in range(20)]
    counts = dict.fromkeys(cases, 0)
    for seed in range(1000):
        for pick in choose(cases, {}, DEFAULT_SETTINGS, "pr", TODAY, str(seed)):
            counts[pick.case_id] += 1
    # 250 each on average; 1000 draws stray by 14, and these are always the same ones.
    assert min(counts.values()) > 200
    assert max(counts.values()) < 300


# The rule said a second time, without anything that the package has for it


def drawn(seed: str, case: str) -> str:
    return hashlib.sha256(f"{seed}:{case}".encode()).hexdigest()


def by_the_rule(
    cases: set[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    affected: Mapping[str, str],
) -> list[tuple[str, str]]:
    """Return the slice as the first lines of the module have it, where no case rests."""
    if mode in ("all", "observe"):
        return [(case, "all") for case in sorted(cases)]
    taken: list[tuple[str, str]] = []

    def take(wanted: Iterable[str], reason: str, most: int | None = None) -> None:
        left = [case for case in wanted if case not in dict(taken)]
        taken.extend((case, reason) for case in left[: len(left) if most is None else most])

    known = [case for case in sorted(cases) if case in rows]
    due = sorted((case for case in known if rows[case].next_due <= today), key=lambda case: rows[case].next_due)
    unseen = sorted((case for case in cases if case not in rows), key=lambda case: drawn(seed, case))
    for reason in (AFFECTED, REJUDGED):
        take((case for case in sorted(cases) if affected.get(case) == reason), reason)
    if mode == "main":
        return taken
    if mode == "nightly":
        take(due, "due")
        take(unseen, "new", rubric.new_traffic_sample)
        room = (rubric.nightly_cases or 0) - len(taken)
        take(unseen, "new", max(room, 0))
        room = (rubric.nightly_cases or 0) - len(taken)
        take(
            sorted(known, key=lambda case: (rows[case].last_tested, drawn(seed, case))), "oldest verdict", max(room, 0)
        )
        return taken
    mine = [case for case in known if case not in affected and rows[case].box == 1]
    first = sorted(mine, key=lambda case: (not rows[case].failing, rows[case].last_tested, drawn(seed, case)))
    take(sorted(first[: rubric.box_1_cases]), "box 1")
    take((case for case in due if rows[case].box > 1), "due", rubric.max_due_cases)
    take(unseen, "new", rubric.new_traffic_sample)
    return taken


@costly
@given(id_sets, row_maps, rubrics, modes, dates, seeds, affected_maps)
def test_the_slice_is_that_of_the_rule(
    cases: set[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    affected: Mapping[str, str],
) -> None:
    cases |= rows.keys()  # Few would have a row otherwise, and fewer of them be due than the cap lets run.
    picks = choose(cases, rows, rubric, mode, today, seed, affected=affected)
    assert [tuple(pick) for pick in picks] == by_the_rule(cases, rows, rubric, mode, today, seed, affected)


# What holds for every state


@costly
@given(id_sets, row_maps, rubrics, modes, dates, seeds, affected_maps, waiting_maps, st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(
    cases: set[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    affected: Mapping[str, str],
    waiting: Mapping[str, Unanswered],
    random: Random,
) -> None:
    shuffled, turned = sorted(cases), list(rows.items())
    random.shuffle(shuffled)
    random.shuffle(turned)
    more: Any = {"unanswered": waiting, "affected": affected}
    assert choose(shuffled + shuffled, dict(turned), rubric, mode, today, seed, **more) == choose(
        sorted(cases), rows, rubric, mode, today, seed, **more
    )


@costly
@given(id_sets, case_ids, row_maps, rubrics, modes, dates, seeds)
def test_one_unseen_case_more_changes_one_pick_at_most(
    cases: set[str], more: str, rows: Mapping[str, Row], rubric: Settings, mode: Mode, today: date, seed: str
) -> None:
    known = {case_id: r for case_id, r in rows.items() if case_id != more}
    before = {pick.case_id for pick in choose(cases - {more}, known, rubric, mode, today, seed)}
    after = {pick.case_id for pick in choose(cases | {more}, known, rubric, mode, today, seed)}
    assert len(before - after) <= 1
    assert after - before <= {more}


@unhurried
@given(id_sets, id_sets, row_maps, rubrics, modes, dates, seeds, affected_maps, waiting_maps)
def test_choosing_from_a_choice_and_more_is_choosing_from_all(
    some: set[str],
    others: set[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    affected: Mapping[str, str],
    waiting: Mapping[str, Unanswered],
) -> None:
    some |= rows.keys()
    more: Any = {"unanswered": waiting, "affected": affected}
    first = {pick.case_id for pick in choose(some, rows, rubric, mode, today, seed, **more)}

    again = choose(first | others, rows, rubric, mode, today, seed, **more)

    assert again == choose(sorted(some | others, reverse=True), rows, rubric, mode, today, seed, **more)


PROGRAM = """
from datetime import date, timedelta
from pytest_recall.schedule.boxes import Row
from pytest_recall.cases.settings import Settings
from pytest_recall.schedule.selection import choose
cases = {f"case-{number}" for number in range(300)}
day = date(2026, 3, 10)
rows = {c: Row(1 + len(c) % 3, 0, day - timedelta(len(c)), day) for c in cases if c.endswith(("1", "2", "3"))}
rubric = Settings(owner="x", max_due_cases=9, new_traffic_sample=9, nightly_cases=200)
affected = dict.fromkeys([c for c in cases if "7" in c], "affected")
for mode in ("pr", "nightly", "all"):
    print(choose(cases, rows, rubric, mode, day, "1", affected=affected))
"""


def test_the_hash_seed_does_not_matter() -> None:
    assert printed_alike(PROGRAM).count("Pick(") > 300 + 200


def test_the_draw_is_by_a_hash_of_seed_and_case() -> None:
    assert shuffle_key("1", "late-fee").hex().startswith("79d3de9e")
    assert shuffle_key("1", "a") != shuffle_key("2", "a")


# What was not chosen


def test_the_rest_is_counted_by_reason() -> None:
    cases = [*CASES, "new-2", "new-3"]
    picks = choose(cases, ROWS, Settings(owner="x", max_due_cases=1, new_traffic_sample=1), "pr", TODAY, "1")
    assert remainder(cases, picks, ROWS, TODAY) == Remainder(not_due=1, over_cap=2, unseen=2, next_due=TODAY + days(1))


def test_nothing_is_left_of_all() -> None:
    picks = choose(CASES, ROWS, DEFAULT_SETTINGS, "all", TODAY, "1")
    assert remainder(CASES, picks, ROWS, TODAY) == Remainder(not_due=0, over_cap=0, unseen=0, next_due=None)


def test_the_calendar_asks_next_on_the_first_day_of_the_rest() -> None:
    rows = {f"c{later}": row(3, 3, due=TODAY + days(later)) for later in range(20)}
    picks = [Pick("c0", "due"), Pick("c1", "due")]
    assert remainder(rows, picks, rows, TODAY).next_due == TODAY + days(2)


@costly
@given(id_sets, row_maps, rubrics, modes, dates)
def test_every_case_is_chosen_or_counted(
    cases: set[str], rows: Mapping[str, Row], rubric: Settings, mode: Mode, today: date
) -> None:
    picks = choose(cases, rows, rubric, mode, today, "1")
    left = remainder(cases, picks, rows, today)
    assert len(picks) + left.not_due + left.over_cap + left.unseen == len(cases)


# Cases that come to no verdict


@pytest.mark.parametrize(
    ("mode", "knobs", "size"),
    [
        ("pr", {"max_due_cases": 8, "new_traffic_sample": 4}, 8),
        ("nightly", {"nightly_cases": 100}, 70 + 100 // SHARE),
        ("nightly", {"nightly_cases": 8}, 70 + 1),
        ("nightly", {}, 70 + 70 // (SHARE - 1)),
    ],
)
def test_those_that_come_to_no_verdict_have_a_share_of_the_slice(mode: Mode, knobs: dict[str, Any], size: int) -> None:
    """The 30 that have waited longest would else be the slice of a pull request, on each day."""
    rows = {f"c{n:03}": row(3, tested=TODAY - days(60 if n < 30 else 8), due=TODAY) for n in range(100)}
    stuck = dict.fromkeys([f"c{n:03}" for n in range(30)], Unanswered(TODAY - days(30), 4))
    picks = choose(rows, rows, Settings(owner="x", **knobs), mode, TODAY, "1", unanswered=stuck)
    ids = {pick.case_id for pick in picks}
    assert len(picks) == len(ids) == size
    assert len(stuck.keys() & ids) == max((knobs.get("nightly_cases") or size) // SHARE, 1)
    # A worker chooses from what was chosen, and arrives at the same.
    assert choose(ids, rows, Settings(owner="x", **knobs), mode, TODAY, "1", unanswered=stuck) == picks


def test_they_rest_longer_each_time_unless_the_change_affects_them() -> None:
    rows = {"a": row(3, tested=TODAY - days(60), due=TODAY)}

    def asked_after(count: int) -> int:
        waiting = {"a": Unanswered(TODAY, count)}
        return next(
            n for n in range(40) if choose(rows, rows, DEFAULT_SETTINGS, "pr", TODAY + days(n), "1", unanswered=waiting)
        )

    assert [asked_after(count) for count in (1, 2, 3, 4, 5, 6, 99)] == [0, 2, 4, 8, 14, 14, 14]
    waiting = {"a": Unanswered(TODAY, 5)}
    picks = choose(rows, rows, DEFAULT_SETTINGS, "pr", TODAY, "1", unanswered=waiting, affected={"a": AFFECTED})
    assert picks == [Pick("a", AFFECTED)]


def test_a_run_of_everything_asks_them_as_well() -> None:
    waiting = {"a": Unanswered(TODAY, 5)}
    assert choose(["a"], {}, DEFAULT_SETTINGS, "all", TODAY, "1", unanswered=waiting) == [Pick("a", "all")]


# Cases that come to no verdict: counted by days, and forgotten at a verdict


def after(before: Mapping[str, Unanswered], outcome: Outcome, on: int = 0, **more: object) -> dict[str, Unanswered]:
    """Return what is left after a trial of the case `a`."""
    graded = {"a": trial("a", outcome, **more)}
    return with_changes(before, unanswered_after(before, graded, TODAY + days(on)))


def test_days_are_counted_and_not_runs() -> None:
    once = after({}, ERROR)
    assert once == {"a": Unanswered(TODAY, 1)}
    assert after(once, SKIPPED) == once
    assert after(once, SKIPPED, on=3) == {"a": Unanswered(TODAY + days(3), 2)}


def test_a_verdict_ends_it() -> None:
    before = {"a": Unanswered(TODAY, 3)}
    assert after(before, PASSED) == after(before, FAILED, on=2) == {}


def test_what_asks_nothing_counts_for_nothing() -> None:
    before = {"a": Unanswered(TODAY, 3)}
    assert after(before, PASSED, on=1, counts_for_schedule=False) == before
    assert after({}, ERROR, source="replayed") == {}
    assert after({}, ERROR, reason=DATASET) == {}
    assert after(before, PASSED, on=-1) == before
