"""A budget that rolls over: what is in the bank, and which affected cases are asked when it is short."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.bank import (
    LOCAL,
    AffectedCase,
    Bank,
    affordable,
    balance,
    hidden_line,
    may_stop,
    spread,
)

DAY = date(2026, 11, 1)
BANKS = st.builds(Bank, st.integers(1, 5000).map(lambda cents: cents / 100), st.integers(1, 60))
SPENDINGS = st.dictionaries(
    st.integers(0, 400).map(lambda days: DAY + timedelta(days=days)),
    st.integers(0, 100_000).map(lambda cents: cents / 100),
    max_size=20,
)
AFFECTED = st.lists(
    st.builds(
        AffectedCase,
        st.integers(0, 60).map(lambda number: f"case-{number}"),
        st.sampled_from(["", "a", "b", "c", "d"]),
        st.integers(0, 3),
    ),
    unique_by=lambda one: one.case_id,
    max_size=40,
)


# What is in the bank


def test_a_week_without_spending_is_a_week_s_worth() -> None:
    bank = Bank(1.0, 7)
    assert balance(bank, {}, DAY) == 7.0
    assert balance(bank, {DAY: 7.0}, DAY) == 0.0
    assert balance(bank, {DAY: 7.0}, DAY + timedelta(days=1)) == 1.0
    assert balance(bank, {DAY: 7.0}, DAY + timedelta(days=6)) == 6.0
    assert balance(bank, {DAY: 7.0}, DAY + timedelta(days=30)) == 7.0


def test_what_is_spent_today_is_taken_out_and_what_comes_later_is_not() -> None:
    bank = Bank(2.0, 3)
    spent = {DAY: 1.0, DAY + timedelta(days=1): 4.5}
    assert balance(bank, spent, DAY - timedelta(days=1)) == 6.0
    assert balance(bank, spent, DAY) == 5.0
    assert balance(bank, spent, DAY + timedelta(days=1)) == 1.5


def test_what_was_spent_beyond_the_bank_is_owed() -> None:
    bank = Bank(1.0, 2)
    assert balance(bank, {DAY: 4.5}, DAY) == 0.0
    assert balance(bank, {DAY: 4.5}, DAY + timedelta(days=2)) == 0.0
    assert balance(bank, {DAY: 4.5}, DAY + timedelta(days=3)) == 0.5


@given(BANKS, SPENDINGS, st.integers(-1, 420))
def test_the_bank_is_never_below_nothing_nor_above_what_it_may_carry(
    bank: Bank, spent: dict[date, float], days: int
) -> None:
    today = DAY + timedelta(days=days)
    left = balance(bank, spent, today)
    assert 0 <= left <= bank.most + 1e-9
    assert balance(bank, dict(reversed(spent.items())), today) == left
    more = {**spent, today: spent.get(today, 0.0) + 1.0}
    assert balance(bank, more, today) <= left
    assert balance(bank, spent, today + timedelta(days=1)) <= left + bank.per_day + 1e-9


@given(BANKS, st.lists(st.tuples(st.integers(0, 5), st.floats(0, 1)), max_size=40))
def test_who_spends_what_is_there_never_spends_more_than_the_days_bring(
    bank: Bank, steps: list[tuple[int, float]]
) -> None:
    spent: dict[date, float] = {}
    today = DAY
    for days, share in steps:
        today += timedelta(days=days)
        # A millionth is what amounts are rounded to.
        spent[today] = spent.get(today, 0.0) + round(share * balance(bank, spent, today), 6)
        assert sum(spent.values()) <= bank.most + bank.per_day * (today - DAY).days + 1e-4


def test_an_amount_below_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be below 0"):
        balance(Bank(1.0, 7), {DAY: -1.0}, DAY)


@given(BANKS, st.integers(1, 500).map(lambda cents: cents / 100))
def test_the_runs_that_fit_cost_no_more_than_there_is(bank: Bank, price: float) -> None:
    runs = affordable(bank.most, price)
    assert runs * price <= bank.most + 1e-6
    assert (runs + 1) * price > bank.most - 1e-6


def test_seven_dollars_are_175_runs_at_four_cents() -> None:
    assert affordable(7.0, 0.04) == 175
    assert affordable(0.0, 0.04) == 0
    assert affordable(0.3, 0.1) == 3  # 0.3 / 0.1 is below 3 in binary.
    with pytest.raises(ValueError, match="not a price"):
        affordable(1.0, 0.0)


# Which are asked


@given(AFFECTED, st.integers(-1, 50), st.randoms(use_true_random=False))
def test_each_case_is_asked_now_or_deferred_and_never_more_than_there_is_room_for(
    cases: list[AffectedCase], room: int, order: object
) -> None:
    found = spread(cases, room, "7")
    assert len(found.now) == min(max(room, 0), len(cases))
    assert sorted(found.now + found.deferred) == sorted(one.case_id for one in cases)
    shuffled = list(cases)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert spread(shuffled, room, "7") == found


@given(AFFECTED)
def test_every_difference_is_asked_before_a_second_case_of_any(cases: list[AffectedCase]) -> None:
    of = {one.case_id: one.difference for one in cases}
    order = [of[case_id] for case_id in spread(cases, len(cases), "7").now]
    differences = set(order)
    assert set(order[: len(differences)]) == differences
    for at in range(len(order)):
        asked = {one: order[:at].count(one) for one in differences}
        left = {one: order[at:].count(one) for one in differences}
        # A difference that has cases left is never two behind another.
        assert all(asked[two] - asked[one] <= 1 for one in differences if left[one] for two in differences)


@given(AFFECTED)
def test_within_a_difference_those_that_fell_before_come_first(cases: list[AffectedCase]) -> None:
    by_id = {one.case_id: one for one in cases}
    order = [by_id[case_id] for case_id in spread(cases, len(cases), "7").now]
    for first, second in combinations(order, 2):
        if first.difference == second.difference:
            assert first.falls >= second.falls


def test_another_seed_draws_others() -> None:
    cases = [AffectedCase(f"case-{number}", "one") for number in range(50)]
    assert spread(cases, 10, "7").now != spread(cases, 10, "8").now


def test_differences_that_fell_and_then_larger_ones_come_first() -> None:
    cases = [AffectedCase(f"a{n}", "large") for n in range(5)] + [
        AffectedCase("b", "small"),
        AffectedCase("c", "fell", 1),
    ]
    now = spread(cases, 3, "7").now
    assert (now[0], now[1][0], now[2]) == ("c", "a", "b")


# When to stop, and what is still open


def test_only_a_wide_change_may_stop_at_a_confirmed_regression() -> None:
    assert may_stop(LOCAL + 1, 1)
    assert not may_stop(LOCAL, 1)
    assert not may_stop(LOCAL + 1, 0)


def test_it_says_what_a_break_could_still_hide_in() -> None:
    assert hidden_line(185, 60) == ("a break of 3 of 185: 117 runs exclude it at 95 %, and 60 exclude one of 8 or more")
    assert hidden_line(185, 0) == "a break of 3 of 185: 117 runs exclude it at 95 %, and no run excludes any"
    assert hidden_line(185, 185) == hidden_line(0, 0) == ""
    assert hidden_line(2, 1) == "a break of 2 of 2: 1 run excludes it at 95 %, and 1 excludes one of 2 or more"
