"""The slice: every rule by hand, and what no order, hash seed or worker may change."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS, MODES, Mode, Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.boxes import DATASET
from pytest_recall.schedule.selection import (
    NearRequest,
    Unanswered,
    merged_unanswered,
    parse,
    select,
    shuffle_key,
    touched,
    unanswered_after,
    unmatched,
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
    printed_alike,
    row,
    row_maps,
    trial,
    unhurried,
)

id_sets = st.sets(case_ids, max_size=40)
modes = st.sampled_from(MODES)
seeds = st.sampled_from(["1", "2", "2026-03-10"])
literals = st.builds(
    Settings,
    owner=st.just("x"),
    max_due_cases=st.integers(0, 2) | st.integers(0, 8),  # Few, so that some that are due are left.
    new_traffic_sample=st.integers(0, 8),
    nightly_max_cases=st.none() | st.integers(0, 2) | st.integers(0, 8),
)


def chosen(cases: list[str], rows: Mapping[str, Row], mode: Mode = "pr", **knobs: int) -> list[tuple[str, str]]:
    """Return the picks of today with seed 1 as plain pairs."""
    rubric = Settings(owner="x", **knobs)  # type: ignore[arg-type]
    return [(pick.case_id, pick.reason) for pick in select(cases, rows, rubric, mode, TODAY, "1")]


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


def test_night_runs_what_is_overdue_and_new_ones() -> None:
    assert chosen(CASES, ROWS, "nightly") == [
        ("older", "due"),
        ("old", "due"),
        ("box1-due", "due"),
        ("today", "due"),
        ("new", "new"),
    ]


def test_all_runs_everything() -> None:
    assert chosen(CASES, ROWS, "all") == [(case, "all") for case in sorted(CASES)]


def test_the_cap_spares_neither_box_1_nor_new_ones() -> None:
    assert chosen(CASES, ROWS, max_due_cases=1) == [
        ("box1-due", "box 1"),
        ("box1-later", "box 1"),
        ("older", "due"),
        ("new", "new"),
    ]
    assert [case for case, _ in chosen(CASES, ROWS, max_due_cases=0)] == ["box1-due", "box1-later", "new"]


def test_the_cap_of_the_night_takes_the_oldest() -> None:
    assert chosen(CASES, ROWS, "nightly", nightly_max_cases=2) == [("older", "due"), ("old", "due"), ("new", "new")]
    assert chosen(CASES, ROWS, "nightly", nightly_max_cases=0) == [("new", "new")]


def test_the_caps_belong_to_their_modes() -> None:
    assert chosen(CASES, ROWS, "nightly", max_due_cases=0) == chosen(CASES, ROWS, "nightly")
    assert chosen(CASES, ROWS, "pr", nightly_max_cases=0) == chosen(CASES, ROWS)


def test_rows_due_on_the_same_day_are_taken_by_id() -> None:
    rows = {name: row(2, 2) for name in "cab"}
    assert chosen(["b", "c", "a"], rows, max_due_cases=2) == [("a", "due"), ("b", "due")]


def test_by_default_25_due_and_5_new() -> None:
    cases = [f"due-{number:03}" for number in range(100)] + [f"new-{number:03}" for number in range(100)]
    rows = {case: row(3, 3, due=TODAY - days(1)) for case in cases[:100]}
    picks = select(cases, rows, DEFAULT_SETTINGS, "pr", TODAY, "1")
    assert [pick.reason for pick in picks] == ["due"] * 25 + ["new"] * 5
    assert [pick.case_id for pick in picks[:25]] == cases[:25]
    night = select(cases, rows, DEFAULT_SETTINGS, "nightly", TODAY, "1")
    assert [pick.reason for pick in night] == ["due"] * 100 + ["new"] * 5


def test_nothing_due_is_nothing_chosen() -> None:
    rows = {name: row(2, 2, due=TODAY + days(1)) for name in "ab"}
    assert chosen(["a", "b"], rows) == chosen(["a", "b"], rows, "nightly") == chosen([], rows, "all") == []


def test_rows_without_a_case_are_passed_over() -> None:
    assert chosen([], ROWS) == []


def test_the_seed_draws_the_new_ones() -> None:
    cases = [f"new-{number:03}" for number in range(100)]
    draws = [[pick.case_id for pick in select(cases, {}, DEFAULT_SETTINGS, "pr", TODAY, seed)] for seed in "12"]
    assert draws == [
        ["new-091", "new-035", "new-062", "new-026", "new-022"],
        ["new-091", "new-052", "new-011", "new-088", "new-054"],
    ]


def test_the_seed_touches_nothing_else() -> None:
    slices = [select(CASES, ROWS, DEFAULT_SETTINGS, "pr", TODAY, seed) for seed in "123"]
    assert slices[0] == slices[1] == slices[2]


def test_the_draw_has_no_favourites() -> None:
    cases = [f"new-{number:02}" for number in range(20)]
    counts = dict.fromkeys(cases, 0)
    for seed in range(1000):
        for pick in select(cases, {}, DEFAULT_SETTINGS, "pr", TODAY, str(seed)):
            counts[pick.case_id] += 1
    # 250 each on average; 1000 draws stray by 14, and these are always the same ones.
    assert min(counts.values()) > 200
    assert max(counts.values()) < 300


# What holds for every state


@costly
@given(id_sets, row_maps, literals, modes, dates, seeds, st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(
    cases: set[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    random: Random,
) -> None:
    shuffled, turned = sorted(cases), list(rows.items())
    random.shuffle(shuffled)
    random.shuffle(turned)
    assert select(shuffled + shuffled, dict(turned), rubric, mode, today, seed) == select(
        sorted(cases), rows, rubric, mode, today, seed
    )


@costly
@given(id_sets, case_ids, row_maps, literals, modes, dates, seeds)
def test_one_unseen_case_more_changes_one_pick_at_most(
    cases: set[str], more: str, rows: Mapping[str, Row], rubric: Settings, mode: Mode, today: date, seed: str
) -> None:
    known = {case_id: r for case_id, r in rows.items() if case_id != more}
    before = set(select(cases - {more}, known, rubric, mode, today, seed))
    after = set(select(cases | {more}, known, rubric, mode, today, seed))
    assert len(after - before) <= 1
    assert len(before - after) <= 1
    assert {pick.case_id for pick in after - before} <= {more}


@unhurried
@given(id_sets, id_sets, row_maps, literals, modes, dates, seeds)
def test_choosing_from_a_choice_and_more_is_choosing_from_all(
    some: set[str], others: set[str], rows: Mapping[str, Row], rubric: Settings, mode: Mode, today: date, seed: str
) -> None:
    first = {pick.case_id for pick in select(some, rows, rubric, mode, today, seed)}
    assert select(first | others, rows, rubric, mode, today, seed) == select(
        some | others, rows, rubric, mode, today, seed
    )


@unhurried
@given(id_sets, row_maps, literals, modes, dates, seeds)
def test_the_slice_keeps_its_promises(
    cases: set[str], rows: Mapping[str, Row], rubric: Settings, mode: Mode, today: date, seed: str
) -> None:
    cases |= rows.keys()  # Few would have a row otherwise, and fewer of them be due than the cap lets run.
    picks = select(cases, rows, rubric, mode, today, seed)
    by_reason: dict[str, list[str]] = {"box 1": [], "due": [], "new": [], "all": []}
    for pick in picks:
        by_reason[pick.reason].append(pick.case_id)
    assert len({pick.case_id for pick in picks}) == len(picks)
    assert {pick.case_id for pick in picks} <= cases
    if mode in ("all", "observe"):
        assert by_reason["all"] == sorted(cases)
        return
    unseen = cases - rows.keys()
    overdue = {case for case in cases & rows.keys() if rows[case].next_due <= today}
    box_1 = {case for case in cases & rows.keys() if rows[case].box == 1}
    assert set(by_reason["new"]) <= unseen
    assert len(by_reason["new"]) == min(rubric.new_traffic_sample, len(unseen))
    if mode == "pr":
        assert set(by_reason["box 1"]) == box_1
        candidates, cap = overdue - box_1, rubric.max_due_cases
    else:
        assert by_reason["box 1"] == []
        candidates, cap = overdue, rubric.nightly_max_cases if rubric.nightly_max_cases is not None else len(overdue)
    assert set(by_reason["due"]) <= candidates
    assert len(by_reason["due"]) == min(cap, len(candidates))
    for left in candidates - set(by_reason["due"]):
        assert all(rows[case].next_due <= rows[left].next_due for case in by_reason["due"])


PROGRAM = """
from datetime import date, timedelta
from pytest_recall.schedule.boxes import Row
from pytest_recall.cases.settings import Settings
from pytest_recall.schedule.selection import choose, select
cases = {f"case-{number}" for number in range(300)}
day = date(2026, 3, 10)
rows = {c: Row(1 + len(c) % 3, 0, day, day) for c in cases if c.endswith(("1", "2", "3"))}
rubric = Settings(owner="x", max_due_cases=9, new_traffic_sample=9, nightly_max_cases=9)
for mode in ("pr", "nightly", "all"):
    print(select(cases, rows, rubric, mode, day, "1"))
rows = {c: row._replace(last_tested=day - timedelta(len(c))) for c, row in rows.items()}
rubric = Settings(owner="x", policy="lottery", slice_cases=200, nightly_cases=200)
for mode in ("pr", "nightly"):
    print(choose(cases, rows, {c for c in cases if "7" in c}, rubric, mode, day, "1"))
"""


def test_the_hash_seed_does_not_matter() -> None:
    assert printed_alike(PROGRAM).count("Pick(") > 300 + 2 * 200


def test_a_ticket_is_a_hash_of_seed_and_case() -> None:
    assert shuffle_key("1", "late-fee").hex().startswith("79d3de9e")
    assert shuffle_key("1", "a") != shuffle_key("2", "a")


# What a change touches, as it is asked for, and by paths


def test_every_form_is_told_from_the_others() -> None:
    assert parse(["fees, hours", "git:origin/main", "file:list.txt", "fees"]) == NearRequest(
        ("fees", "hours"), ("list.txt",), ("origin/main",)
    )
    assert parse(["off"]) == NearRequest(off=True)
    assert parse([]) == NearRequest()


@pytest.mark.parametrize("value", ["", " , ", "file:", "git:"])
def test_what_names_nothing_is_refused(value: str) -> None:
    with pytest.raises(RecallError, match="names nothing; give tags, file:PATH, git:REF, or off"):
        parse([value])


def test_what_pytest_reads_arguments_from_is_none() -> None:
    with pytest.raises(RecallError, match=r"^--recall-near: write file:list\.txt; pytest itself"):
        parse(["@list.txt"])


def test_off_stands_alone() -> None:
    with pytest.raises(RecallError, match="`off` is given together with what it would leave out"):
        parse(["off", "fees"])


GLOBS = {
    "fees": ("src/fees/**", "prompts/fee_*.md"),
    "all": ("prompts/", "!prompts/README.md"),
    "root": ("/setup.cfg",),
}


@pytest.mark.parametrize(
    ("path", "tags"),
    [
        ("src/fees/late/rule.py", ["fees"]),
        ("prompts/fee_late.md", ["all", "fees"]),
        ("prompts/README.md", []),
        ("deep/prompts/x", ["all"]),
        ("setup.cfg", ["root"]),
        ("deep/setup.cfg", []),
        ("src/fees", []),
    ],
)
def test_paths_fit_as_in_a_gitignore(path: str, tags: list[str]) -> None:
    assert touched(GLOBS, [path, "other.txt"]) == tags


def test_a_glob_that_fits_no_file_is_named() -> None:
    assert list(unmatched(GLOBS, ["prompts/README.md", "setup.cfg", "src/fees/a.py"])) == [
        ("fees", "prompts/fee_*.md"),
    ]


# Cases that come to no verdict: counted by days, forgotten at a verdict, and the same on both sides of a merge


waiting = st.dictionaries(case_ids, st.builds(Unanswered, dates, st.integers(1, 6)), max_size=8)


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


def test_a_merge_knows_the_verdicts_of_both_sides() -> None:
    base = {"a": Unanswered(TODAY, 2), "b": Unanswered(TODAY, 2)}
    later = Unanswered(TODAY + days(1), 3)
    assert merged_unanswered(base, {"a": later}, {"b": later, "c": later}) == {"c": later}
    assert merged_unanswered(base, base, {"a": later, "b": base["b"]}) == {"a": later, "b": base["b"]}


@given(waiting, waiting, waiting)
def test_the_sides_may_be_swapped(
    base: dict[str, Unanswered], ours: dict[str, Unanswered], theirs: dict[str, Unanswered]
) -> None:
    assert merged_unanswered(base, ours, theirs) == merged_unanswered(base, theirs, ours)
    assert merged_unanswered(base, ours, ours) == ours
