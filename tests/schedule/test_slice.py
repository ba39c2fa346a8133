"""The slice under both policies, and what is left beside it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS, MODES, Mode, Settings
from pytest_recall.schedule.selection import Pick, Remainder, Unanswered, choose, remainder, select
from pytest_recall.trials.trial import Row
from tests.helpers.samples import TODAY, case_ids, costly, dates, days, failing, row, row_maps, unhurried
from tests.schedule.test_selection import CASES, ROWS, id_sets, literals, seeds

LITERAL = Settings(owner="x", max_due_cases=8, nightly_max_cases=8, new_traffic_sample=4, box_1_cases=10)
waiting_maps = st.dictionaries(case_ids, st.builds(Unanswered, dates, st.integers(1, 6)), max_size=20)
lotteries = st.builds(
    Settings,
    owner=st.just("x"),
    policy=st.just("lottery"),
    slice_cases=st.integers(1, 12),
    nightly_cases=st.none() | st.integers(1, 12),
    max_verdict_age=st.none() | st.integers(1, 40),
)
rubrics = literals | lotteries


def lottery(**knobs: Any) -> Settings:
    """Return a rubric with that policy."""
    return Settings(owner="x", policy="lottery", **knobs)


@unhurried
@given(id_sets, id_sets, row_maps, id_sets, rubrics, st.sampled_from(MODES), dates, seeds, waiting_maps)
def test_choosing_from_a_choice_and_more_is_choosing_from_all(
    some: set[str],
    others: set[str],
    rows: Mapping[str, Row],
    near: set[str],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    waiting: Mapping[str, Unanswered],
) -> None:
    first = {pick.case_id for pick in choose(some, rows, near, rubric, mode, today, seed, waiting)}

    again = choose(first | others, rows, near, rubric, mode, today, seed, waiting)

    assert again == choose(sorted(some | others, reverse=True), rows, near, rubric, mode, today, seed, waiting)


@costly
@given(id_sets, row_maps, id_sets, lotteries, dates, seeds)
def test_a_slice_has_its_size_and_a_night_without_one_all_that_is_asked_for(
    cases: set[str], rows: Mapping[str, Row], near: set[str], rubric: Settings, today: date, seed: str
) -> None:
    slice_ = choose(cases, rows, near, rubric, "pr", today, seed)
    night = choose(cases, rows, near, rubric, "nightly", today, seed)

    assert len(slice_) == min(rubric.slice_cases, len(cases))
    asked_for = {
        case
        for case in cases
        if case not in rows
        or rows[case].box == 1
        or rows[case].is_due(today)
        or (rubric.max_verdict_age is not None and (today - rows[case].last_tested).days >= rubric.max_verdict_age)
    }
    if rubric.nightly_cases is None:
        assert {pick.case_id for pick in night} == asked_for
    else:
        assert len(night) == min(rubric.nightly_cases, len(cases))


def test_a_case_near_the_change_is_asked_for_its_sake_unless_it_is_failing() -> None:
    rows = {"young": row(1, 1), "failed": failing(), "other": row(1, 1)}
    picks = choose(rows, rows, {"young", "failed"}, lottery(), "pr", TODAY, "1")
    assert dict(picks) == {"young": "near", "failed": "box 1", "other": "box 1"}


def test_the_due_wait_for_what_is_near() -> None:
    rows = {f"due-{n}": row(3, 3) for n in range(9)} | {f"near-{n}": row(3, 3, due=TODAY + days(2)) for n in range(9)}
    near = {case for case in rows if case.startswith("near")}
    assert [pick.reason for pick in choose(rows, rows, near, lottery(slice_cases=12), "pr", TODAY, "1")] == [
        *["near"] * 9,
        *["due"] * 3,
    ]


# The rest


def test_the_rest_is_counted_by_reason() -> None:
    cases = [*CASES, "new-2", "new-3"]
    picks = select(cases, ROWS, Settings(owner="x", max_due_cases=1, new_traffic_sample=1), "pr", TODAY, "1")
    assert remainder(cases, picks, ROWS, TODAY) == Remainder(not_due=1, over_cap=2, unseen=2, next_due=TODAY + days(1))


def test_nothing_is_left_of_all() -> None:
    picks = select(CASES, ROWS, DEFAULT_SETTINGS, "all", TODAY, "1")
    assert remainder(CASES, picks, ROWS, TODAY) == Remainder(not_due=0, over_cap=0, unseen=0, next_due=None)


def test_the_calendar_asks_next_on_the_first_day_of_the_rest() -> None:
    rows = {f"c{later}": row(3, 3, due=TODAY + days(later)) for later in range(20)}
    chosen = [Pick("c0", "due"), Pick("c1", "due")]
    assert remainder(rows, chosen, rows, TODAY).next_due == TODAY + days(2)


@pytest.mark.parametrize("mode", MODES)
@costly
@given(id_sets, id_sets, row_maps, rubrics, dates)
def test_every_case_is_chosen_or_counted(
    mode: Mode, cases: set[str], near: set[str], rows: Mapping[str, Row], rubric: Settings, today: date
) -> None:
    picks = choose(cases, rows, near, rubric, mode, today, "1")
    left = remainder(cases, picks, rows, today, near)
    assert len(picks) + left.near + left.not_due + left.over_cap + left.unseen == len(cases)


def test_what_is_near_is_counted_as_that_and_what_is_stale_beside_it() -> None:
    rows = {"a": row(3, 3), "b": row(3, 3, due=TODAY + days(1), tested=TODAY - days(2)), "c": row(2, 2)}
    assert remainder([*rows, "new"], [], rows, TODAY, {"a", "new"}, 30) == Remainder(
        not_due=1, over_cap=1, unseen=0, next_due=TODAY + days(1), near=2, stale=2
    )


# Cases that come to no verdict


@pytest.mark.parametrize("rubric", [LITERAL, lottery(slice_cases=8, nightly_cases=8)], ids=["literal", "lottery"])
@pytest.mark.parametrize("mode", ["pr", "nightly"])
def test_those_that_come_to_no_verdict_have_a_share_of_the_slice(rubric: Settings, mode: Mode) -> None:
    """The 30 that have waited longest would else be the slice, on each day."""
    rows = {f"c{n:03}": row(3, tested=TODAY - days(60 if n < 30 else 8), due=TODAY) for n in range(100)}
    stuck = dict.fromkeys([f"c{n:03}" for n in range(30)], Unanswered(TODAY - days(30), 4))
    picks = [pick.case_id for pick in choose(rows, rows, (), rubric, mode, TODAY, "1", stuck)]
    assert len(picks) == len(set(picks)) == 8
    assert len(stuck.keys() & set(picks)) == 1


def test_they_rest_longer_each_time_unless_the_change_touches_them() -> None:
    rows = {"a": row(3, tested=TODAY - days(60), due=TODAY)}

    def asked_after(count: int) -> int:
        waiting = {"a": Unanswered(TODAY, count)}
        return next(n for n in range(40) if choose(rows, rows, (), LITERAL, "pr", TODAY + days(n), "1", waiting))

    assert [asked_after(count) for count in (1, 2, 3, 4, 5, 6, 99)] == [0, 2, 4, 8, 14, 14, 14]
    waiting = {"a": Unanswered(TODAY, 5)}
    assert choose(rows, rows, {"a"}, LITERAL, "pr", TODAY, "1", waiting) == [Pick("a", "due")]


def test_a_run_of_everything_asks_them_as_well() -> None:
    assert choose(["a"], {}, (), LITERAL, "all", TODAY, "1", {"a": Unanswered(TODAY, 5)}) == [Pick("a", "all")]


@unhurried
@given(st.integers(0, 30), st.integers(0, 20))
def test_box_1_has_a_cap_and_those_that_failed_come_first(passed: int, failed: int) -> None:
    rows = {f"p{n}": row(1, due=TODAY) for n in range(passed)} | {f"f{n}": failing() for n in range(failed)}
    picks = [pick.case_id for pick in choose(rows, rows, (), LITERAL, "pr", TODAY, "1")]
    assert len(picks) == min(passed + failed, 10)
    assert sum(name[0] == "f" for name in picks) == min(failed, 10)
