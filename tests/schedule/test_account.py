"""What runs have spent and deferred: kept by run, so that branches join in any order and count nothing twice."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce
from math import fsum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.exchange import Call
from pytest_recall.schedule.account import KEPT_TIMES, Account, RunSpend, account_after, merged, spend_of_change
from pytest_recall.schedule.bank import Bank, balance
from pytest_recall.schedule.events import Events, events_of, fold_account, with_account
from pytest_recall.schedule.merge_file import merge_texts
from pytest_recall.schedule.state import events_text, parse_events
from pytest_recall.schedule.state_file import parse_state
from tests.helpers.samples import ERROR, FAILED, PASSED, TODAY, days, header, trial
from tests.schedule.state_samples import many, written

NAME = "eval/recall.yaml"
RUNS = st.sampled_from([f"2026-03-{day:02}T120000" for day in range(1, 12)])
SPENDS = st.builds(
    RunSpend,
    st.integers(0, 40).map(lambda ago: TODAY - timedelta(days=ago)),
    st.integers(0, 900).map(lambda cents: cents / 100),
    st.integers(0, 2),
)
CHANGES = st.lists(st.sampled_from(["7", "12", "abc"]), min_size=1, max_size=3, unique=True).map(sorted).map(tuple)
ACCOUNTS = st.builds(
    Account,
    st.dictionaries(RUNS, SPENDS, max_size=5),
    st.dictionaries(st.sampled_from(["case-0001", "case-0002", "new"]), CHANGES, max_size=3),
)
BANKS = st.builds(Bank, st.integers(10, 300).map(lambda cents: cents / 100), st.integers(1, 9))
NOTHING = Account()


# Two branches


@given(ACCOUNTS, ACCOUNTS, ACCOUNTS)
def test_branches_join_in_any_order_and_lose_nothing(base: Account, ours: Account, theirs: Account) -> None:
    both = merged(base, ours, theirs)
    assert both == merged(base, theirs, ours)
    assert both.spent == merged(base, both, ours).spent  # Nothing is counted twice.
    assert both.spent.keys() == ours.spent.keys() | theirs.spent.keys()
    for run, one in both.spent.items():
        assert one.usd == max(side.spent[run].usd for side in (ours, theirs) if run in side.spent)
    for case_id, names in both.deferred.items():
        known = {*ours.deferred.get(case_id, ()), *theirs.deferred.get(case_id, ())}
        assert set(names) <= known


@given(st.permutations(["a", "b", "c"]), st.lists(ACCOUNTS, min_size=3, max_size=3))
def test_three_branches_join_in_any_order(order: list[str], sides: list[Account]) -> None:
    named = dict(zip("abc", sides, strict=True))
    ways = (reduce(lambda one, other: merged(NOTHING, one, named[other]), way, NOTHING) for way in ("abc", order))
    assert len({repr(way) for way in ways}) == 1


def test_what_is_deferred_goes_on_under_its_new_id() -> None:
    account = Account({}, {"a": ("7",), "b": ("7", "12"), "c": ("9",)})
    assert account.moved({"a": "b", "c": "d"}).deferred == {"b": ("12", "7"), "d": ("9",)}


def test_two_branches_that_spent_on_one_day_spent_both() -> None:
    base = Account({"r1": RunSpend(TODAY, 1.0)})
    ours, theirs = (base.with_spend(run, RunSpend(TODAY, usd)) for run, usd in (("r2", 0.25), ("r3", 0.5)))
    assert merged(base, ours, theirs).by_day == {TODAY: 1.75}


def test_a_case_stays_deferred_by_the_change_that_no_side_has_told_of() -> None:
    base = NOTHING.deferring(["a", "b"], "7")
    ours = base.answered({"a": ["7"]})
    theirs = base.deferring(["a"], "12")
    assert merged(base, ours, theirs).deferred == {"a": ("12",), "b": ("7",)}


# What no longer counts


@given(ACCOUNTS, BANKS, st.integers(0, 12))
def test_what_is_forgotten_changes_no_balance_from_then_on(account: Account, bank: Bank, later: int) -> None:
    kept = account.pruned(bank, TODAY)
    assert kept.spent.keys() <= account.spent.keys()
    limit = TODAY - timedelta(days=bank.carry_days * KEPT_TIMES)
    if all(one.day >= limit for one in account.spent.values()):
        day = TODAY + timedelta(days=later)
        assert balance(bank, kept.by_day, day) == balance(bank, account.by_day, day)
    assert all(one.day >= limit for one in kept.spent.values())


def test_a_bank_that_is_never_full_does_not_become_so_by_forgetting() -> None:
    bank = Bank(1.0, 2)
    account = NOTHING
    for ago in range(15, 0, -1):
        account = account.with_spend(f"r{ago}", RunSpend(TODAY - timedelta(days=ago), 2.0 if ago > 13 else 1.0))
    assert len(account.pruned(bank, TODAY).spent) == 15
    assert balance(bank, account.by_day, TODAY) == 0.0
    assert account.pruned(bank, TODAY + timedelta(days=40)).spent == {}


# What a run adds

CALL = Call("agent", "live", cost=0.5)


def test_what_a_change_affects_is_paid_from_the_bank_and_nothing_else_is() -> None:
    told = header(run="r", budgeted=("a bank",), per_case=0.75)
    trials = [
        trial("a", PASSED, reason="affected", calls=(CALL, Call("judge", "live", cost=0.25))),
        trial("b", FAILED, reason="judged again", calls=(Call("agent", "replayed", cost=9.0), CALL)),
        trial("c", ERROR, reason="affected", calls=(Call("agent", "live", cost=None),)),
        trial("d", PASSED, reason="in turn", calls=(CALL,)),
        trial("e", PASSED, reason="deferred by #7", calls=(CALL,)),
    ]
    assert spend_of_change(told, trials) == RunSpend(TODAY, 2.0)
    assert spend_of_change(told._replace(per_case=None), trials) == RunSpend(TODAY, 1.25, unpriced=1)
    assert spend_of_change(told._replace(budgeted=()), trials) is None


@pytest.mark.parametrize("counts", [True, False])
def test_a_verdict_settles_what_its_run_knew_of(counts: bool) -> None:
    before = NOTHING.deferring(["a", "b"], "7").deferring(["a"], "12")
    told = header(run="r", waiting=(("a", "7"), ("b", "7")), deferred=(("c", "budget"),), pr="15")
    grading = {"a": trial("a", PASSED, counts_for_schedule=counts), "b": trial("b", ERROR)}
    after = account_after(before, told, grading.values(), grading)
    assert after.deferred == {"a": ("12",) if counts else ("12", "7"), "b": ("7",), "c": ("15",)}
    again = account_after(after.answered({"c": ["15"]}), told, grading.values(), grading, first=False)
    assert "c" not in again.deferred


@given(st.permutations([0, 1, 2]))
def test_events_of_runs_add_up_to_the_same_account(order: list[int]) -> None:
    told = [
        header(run="r0", pr="7", budgeted=("x",), deferred=(("a", "budget"), ("b", "budget"))),
        header(run="r1", pr="12", budgeted=("x",), deferred=(("a", "budget"),)),
        header(run="r2", date=(TODAY + days(1)).isoformat(), waiting=(("a", "7"), ("b", "7"))),
    ]
    made = [[trial("z", PASSED, reason="affected", calls=(CALL,))], [], [trial("a", PASSED), trial("b", PASSED)]]
    files: dict[str, Events] = {}
    for at in order:
        whole = with_account(events_of(told[at], made[at], len(made[at])), told[at], made[at])
        assert whole.says_anything
        files[f"f{at}"] = parse_events(events_text(whole), "file")
        assert files[f"f{at}"] == whole
    found = fold_account(NOTHING, files)
    assert found.by_day == {TODAY: 0.5}
    assert found.deferred == {"a": ("12",)}
    assert fold_account(found, {name: files[name] for name in ("f0",)}).spent == found.spent


# The file


@given(ACCOUNTS)
def test_the_head_of_the_state_is_read_as_it_was_written(account: Account) -> None:
    text = parse_state(written(many(3)), NAME).updated({}, account=account)
    again = parse_state(text, NAME)
    assert again.account.deferred == account.deferred
    assert {run: (one.day, one.unpriced) for run, one in again.account.spent.items()} == {
        run: (one.day, one.unpriced) for run, one in account.spent.items()
    }
    assert fsum(again.account.by_day.values()) == pytest.approx(fsum(account.by_day.values()))
    assert again.updated({}, account=account) == text
    assert parse_state(text.replace("cases:\n", "cases: # all\n"), NAME).account == again.account
    assert again.updated({}, account=NOTHING).partition("cases:")[2] == text.partition("cases:")[2]


def test_the_merge_driver_joins_what_both_sides_spent() -> None:
    base = parse_state(written(many(3)), NAME)
    ours, theirs = [
        base.updated({}, account=NOTHING.with_spend(run, RunSpend(TODAY, 0.5)).deferring(["case-0001"], change))
        for run, change in (("r1", "7"), ("r2", "12"))
    ]
    found = merge_texts(written(many(3)), ours, theirs, NAME)
    assert found.text == merge_texts(written(many(3)), theirs, ours, NAME).text
    assert found.state.account.by_day == {TODAY: 1.0}
    assert found.state.account.deferred == {"case-0001": ("12", "7")}


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("spent:\n  r1:\n    {date: 2026-03-01}\n", "spent: usd is missing"),
        ("spent:\n  r1:\n    {date: 2026-03-01, usd: -1}\n", "spent: usd: must be an amount of US dollars, not -1"),
        ("deferred:\n  a:\n    7\n", "deferred: must map ids to lists of pull requests, commits or runs"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(lines: str, why: str) -> None:
    text = written(many(2)).replace("cases:\n", f"{lines}cases:\n")
    with pytest.raises(RecallError, match=f"{NAME}:6: {why}"):
        parse_state(text, NAME)
