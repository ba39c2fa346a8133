"""Backtests: what a schedule had seen of the past, where what was not run is not known."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.settings import DEFAULT_SETTINGS
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.backtest import AS_IT_WAS, as_it_was, backtest, check_enough, rows_before
from pytest_recall.schedule.history import PastRun
from pytest_recall.schedule.policies import Policy, literal, lottery
from pytest_recall.schedule.selection import Pick
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Row
from tests.helpers.samples import TODAY, header, row, trial, unhurried

CASES = ("a", "b", "c")


def run(day: int, pr: str | None = None, **verdicts: bool) -> PastRun:
    """Return a run so many days after the first."""
    return PastRun(TODAY + timedelta(days=day), pr, verdicts)


def fixed(*ids: str) -> Policy:
    """Return a schedule that runs these, as far as there are such cases."""

    def choose(rows: Mapping[str, Row], near: Collection[str], today: date, seed: str) -> Sequence[Pick]:
        return [Pick(case_id, "due") for case_id in ids]

    return Policy("fixed", choose, choose, None)


BROKEN = [
    run(0, a=True, b=True),
    run(1, "1", a=True, b=True),
    run(2, "2", a=False, b=True),
    run(4, a=False, b=True),
    run(6, "3", a=True, b=True),
]


def test_who_runs_everything_sees_everything_at_once() -> None:
    found = backtest(lambda some: fixed("a", "b"), BROKEN, {})
    was = as_it_was(BROKEN)
    assert found._replace(policy=AS_IT_WAS) == was
    assert (was.runs, was.chosen, was.fails, was.red, was.caught) == (4, 8, 2, 1, 1)
    assert (was.regressed, was.found, was.delay, was.longest) == (1, 1, 0, 0)


def test_who_never_runs_it_misses_it() -> None:
    found = backtest(lambda some: fixed("b"), BROKEN, {})
    assert (found.chosen, found.unknown, found.fails, found.caught) == (4, 0, 0, 0)
    assert (found.regressed, found.found, found.missed, found.undecided, found.delay) == (1, 0, 1, 0, None)


def test_who_comes_later_finds_it_later() -> None:
    def choose(rows: Mapping[str, Row], near: Collection[str], today: date, seed: str) -> Sequence[Pick]:
        return [Pick("a", "due")] if today >= TODAY + timedelta(days=4) else []

    found = backtest(lambda some: Policy("late", choose, choose, None), BROKEN, {})
    assert (found.found, found.delay, found.red, found.caught) == (1, 2, 1, 0)


def test_what_no_run_has_run_is_not_known_and_moves_no_row() -> None:
    runs = [run(0, a=True, b=True), run(1, a=False), run(2, b=True), run(3, a=False), run(4, a=True)]
    seen: list[Mapping[str, Row]] = []

    def choose(rows: Mapping[str, Row], near: Collection[str], today: date, seed: str) -> Sequence[Pick]:
        seen.append(dict(rows))
        return [Pick("a", "due")] if today == TODAY + timedelta(days=2) else []

    found = backtest(lambda some: Policy("odd", choose, choose, None), runs, {})
    assert (found.chosen, found.unknown, found.found, found.missed, found.undecided) == (1, 1, 0, 0, 1)
    assert seen[1]["a"] == seen[3]["a"]


def test_a_case_is_chosen_from_when_it_first_ran() -> None:
    known: list[set[str]] = []

    def make(some: Collection[str]) -> Policy:
        known.append(set(some))
        return fixed(*some)

    found = backtest(make, [run(0, a=True), run(1, a=True), run(2, a=True, b=True)], {"c": row()})
    assert known == [{"a", "c"}, {"a", "b", "c"}]
    assert (found.chosen, found.unknown) == (5, 2)


def test_pull_requests_draw_by_their_number_and_nights_by_their_date() -> None:
    told: list[tuple[str, date, str]] = []

    def choose(kind: str) -> Policy:
        def one(rows: Mapping[str, Row], near: Collection[str], today: date, seed: str) -> Sequence[Pick]:
            told.append((kind, today, seed))
            assert not near
            return []

        return Policy(kind, one, one, None)

    policy = choose("pull")._replace(night=choose("night").night)
    backtest(lambda some: policy, BROKEN[:4], {})
    assert [(kind, seed) for kind, _, seed in told] == [("pull", "1"), ("pull", "2"), ("night", "2026-03-14")]


@unhurried
@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.none() | st.integers(1, 4).map(str),
            st.dictionaries(st.sampled_from(CASES), st.booleans()),
        ),
        min_size=2,
        max_size=12,
    ),
    st.booleans(),
)
def test_a_schedule_never_sees_more_than_there_was(
    drawn: list[tuple[int, str | None, dict[str, bool]]], is_literal: bool
) -> None:
    day, runs = 0, []
    for later, pr, verdicts in drawn:
        day += later
        runs.append(run(day, pr, **verdicts))
    was = as_it_was(runs)
    found = backtest(lambda some: literal(DEFAULT_SETTINGS, some) if is_literal else lottery(some, 2, 2, 7), runs, {})

    assert 0 <= found.chosen - found.unknown <= was.chosen
    assert found.fails <= was.fails
    assert found.caught <= found.red == was.red
    assert found.found + found.missed + found.undecided == found.regressed == was.regressed


def test_rows_from_before_the_first_day_are_known() -> None:
    old, new = row(3, tested=TODAY - timedelta(days=2)), row(2, tested=TODAY)
    records = [Record(header(), (trial("a", row=old), trial("b", row=new))), Record(header(), (trial("a", row=new),))]
    assert rows_before(records, TODAY) == {"a": old}


@pytest.mark.parametrize("runs", [[], BROKEN, [run(0, str(pr), a=True) for pr in range(9)]])
def test_too_little_history_is_refused(runs: list[PastRun]) -> None:
    with pytest.raises(RecallError, match=r"too little history: \d runs? with verdicts over \d days?, .* --verdicts"):
        check_enough(runs)


def test_enough_history_is_not() -> None:
    check_enough([run(day, a=True) for day in (0, 1, 2, 3, 4, 6)])
