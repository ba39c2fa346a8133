"""What the bank allows of a change: which cases are asked, which are deferred, and what is said of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.account import NOTHING_SPENT, Account, RunSpend
from pytest_recall.schedule.allotment import FOR_MONEY, FOR_REGRESSION, Allotment, allot
from pytest_recall.schedule.bank import Bank
from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState, of_series
from pytest_recall.schedule.selection import Deferrals, choose
from tests.helpers.samples import TODAY, row
from tests.schedule.test_slice import lottery

FINDINGS = st.dictionaries(
    st.integers(0, 30).map(lambda number: f"case-{number}"),
    st.builds(
        lambda state, key, usd: ReplayFinding(state, key=key, usd=usd),
        st.sampled_from([ReplayState.CHANGED, ReplayState.PROVEN, ReplayState.NOT_RECORDED]),
        st.sampled_from(["", "a", "b"]),
        st.none() | st.integers(0, 300).map(lambda cents: cents / 100),
    ),
    max_size=20,
)
BANK = Bank(1.0, 4)


def changes(**usd: float | None) -> Changes:
    """Return cases whose requests differ alike, each with its price."""
    found = {name: ReplayFinding(ReplayState.CHANGED, key="one", usd=price) for name, price in usd.items()}
    return Changes(found, len(found))


def allotted(found: Changes, account: Account = NOTHING_SPENT, **rows: int) -> Allotment:
    known = {name: row(lapses=lapses) for name, lapses in rows.items()}
    return allot(BANK, account, found, found.found.keys(), known, TODAY, "7")


@given(FINDINGS, st.integers(0, 500).map(lambda cents: cents / 100))
def test_what_is_asked_fits_into_the_bank_and_nothing_is_lost(found: dict[str, ReplayFinding], spent: float) -> None:
    account = Account({"r": RunSpend(TODAY, spent)})
    told = allotted(Changes(found, len(found)), account)
    affected = Changes(found).affected
    assert told.affected == len(affected)
    assert told.deferred.keys() <= affected
    prices = [found[case_id].usd for case_id in affected]
    if all(price is None for price in prices):
        assert (told.cost, told.per_case, dict(told.deferred)) == (None, None, {})
        return
    assert told.cost is not None
    assert told.assumed == prices.count(None)
    mean = told.per_case
    asked = [found[case_id].usd for case_id in affected - told.deferred.keys()]
    assert sum(mean if usd is None else usd for usd in asked) <= told.left + 1e-4  # type: ignore[misc]
    assert bool(told.deferred) == (round(told.cost, 4) > round(told.left, 4)) or abs(told.cost - told.left) < 1e-3
    assert told == allotted(Changes(dict(reversed(found.items())), len(found)), account)


def test_those_that_fell_are_asked_first_and_the_bank_rolls_over() -> None:
    found = changes(a=2.0, b=2.0, c=2.0)
    yesterday = Account({"r": RunSpend(TODAY - timedelta(days=1), 3.0)})
    told = allotted(found, yesterday, a=0, b=2, c=1)
    assert told.left == 2.0
    assert told.deferred == {"a": FOR_MONEY, "c": FOR_MONEY}
    assert allotted(found).deferred.keys() < {"a", "b", "c"}
    assert allotted(changes(a=1.0, b=1.0), NOTHING_SPENT).deferred == {}


def test_what_is_told() -> None:
    lines = list(allotted(changes(a=2.0, b=2.0, c=None), Account({"r": RunSpend(TODAY, 1.0, unpriced=1)})).lines())
    assert lines[0] == (
        "budget: $3.00 of at most $4.00 in the bank (less by 1 trial of unknown cost); 3 affected cases would cost"
        " about $6.00, 1 of them assumed: 1 asked, 2 deferred"
    )
    assert lines[1].startswith("deferred: budget (2): ")
    assert lines[2].startswith("what may be hidden, if none of the 1 asked fails: a break of 3 of 3: 1 run excludes")
    assert list(allotted(changes(a=0.5)).lines()) == [
        "budget: $4.00 of at most $4.00 in the bank; 1 affected case would cost about $0.50: all are asked"
    ]
    unknown = next(allotted(changes(a=None)).lines())
    assert "; what 1 affected case would cost is unknown, so that all are asked: " in unknown
    assert list(allotted(changes()).lines()) == ["budget: $4.00 of at most $4.00 in the bank; no case is affected"]
    stopped = allotted(changes(a=0.5, b=0.5)).stopped(["b"])
    assert stopped.deferred == {"b": FOR_REGRESSION}
    assert list(stopped.lines())[1].startswith("deferred: a regression is confirmed (1): b; ")


def test_trials_of_a_series_cost_as_often() -> None:
    one = ReplayFinding(ReplayState.CHANGED, usd=0.5)
    assert of_series([one], 3).usd == 1.5
    assert of_series([ReplayFinding(ReplayState.OTHER, usd=0.5)], 2).usd == 1.0
    assert ReplayFinding.from_json(one._replace(usd=0.0).to_json()).usd == 0.0


@pytest.mark.parametrize("size", [1, 3, None])
def test_a_night_takes_what_was_left_first_and_keeps_its_size(size: int | None) -> None:
    rows = {name: row(1, due=TODAY) for name in "abcd"}
    left = Deferrals(waiting={"c": ("7", "12"), "d": ("7",), "gone": ("7",)})
    rubric = lottery(nightly_cases=size)
    picks = choose(rows, rows, (), rubric, "nightly", TODAY, "7", left=left)
    assert len(picks) == (size or 4)
    told = [("c", "deferred by #7, #12"), ("d", "deferred by #7")]
    assert [tuple(pick) for pick in picks[:2]] == told[: size or 4]
    again = choose([pick.case_id for pick in picks], rows, (), rubric, "nightly", TODAY, "7", left=left)
    assert again == picks


def test_a_pull_request_leaves_what_is_deferred_and_draws_it_not() -> None:
    rows = {name: row(1, due=TODAY) for name in "abcd"}
    found = changes(a=1.0, b=1.0)
    left = Deferrals(frozenset({"b"}))
    picks = choose(rows, rows, (), lottery(slice_cases=9), "pr", TODAY, "7", changes=found, left=left)
    assert sorted(pick.case_id for pick in picks) == ["a", "c", "d"]
    left = Deferrals(waiting={"b": ("7",)}, alone=True)
    alone = choose(rows, rows, (), lottery(), "pr", TODAY, "7", changes=found, left=left)
    assert [tuple(pick) for pick in alone] == [("b", "deferred by #7")]
