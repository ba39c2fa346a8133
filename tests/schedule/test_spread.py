"""Money that is short reaches each difference of requests before a second case of any."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState
from pytest_recall.schedule.spread import beyond, in_turns
from tests.helpers.samples import case_ids, unhurried

PRICES = st.none() | st.sampled_from([0.0, 0.01, 0.25, 1.0])
PRICED = st.dictionaries(case_ids, st.tuples(st.sampled_from(["", "x", "y", "z"]), PRICES), max_size=20)


def changes(cases: dict[str, tuple[str, float | None]]) -> Changes:
    """Return what a replay found of cases that all ask something else: their difference and their price."""
    return Changes(
        {case_id: ReplayFinding(ReplayState.CHANGED, key=key, usd=usd) for case_id, (key, usd) in cases.items()}
    )


def reached(cases: dict[str, tuple[str, float | None]], budget: float, seed: str = "1") -> set[str]:
    """Return the cases that the budget reaches."""
    return cases.keys() - beyond(changes(cases), cases, budget, seed).keys()


@unhurried
@given(st.dictionaries(case_ids, st.sampled_from(["", "x", "y", "z"])), st.randoms(use_true_random=False))
def test_each_difference_comes_before_a_second_case_of_any(cases: dict[str, str], random: Random) -> None:
    order = in_turns(cases, "1")

    assert sorted(order) == sorted(cases)
    keys = [cases[case_id] or case_id for case_id in order]
    turns = [keys[:place].count(key) for place, key in enumerate(keys)]
    assert turns == sorted(turns)
    sizes = [keys.count(key) for key, turn in zip(keys, turns, strict=True) if turn == 0]
    assert sizes == sorted(sizes, reverse=True), "differences of more cases come first"
    shuffled = list(cases.items())
    random.shuffle(shuffled)
    assert in_turns(dict(shuffled), "1") == order


def test_the_seed_draws_who_stands_for_a_difference() -> None:
    cases = dict.fromkeys(map(str, range(20)), "x")
    assert len({in_turns(cases, str(seed))[0] for seed in range(20)}) > 5


@unhurried
@given(PRICED, st.floats(0.01, 10))
def test_what_is_reached_is_paid_for_and_the_next_would_not_be(
    cases: dict[str, tuple[str, float | None]], budget: float
) -> None:
    prices = [usd for _, usd in cases.values() if usd is not None]
    asked = reached(cases, budget)
    if not prices:
        assert asked == cases.keys()
        return
    mean = sum(prices) / len(prices)
    cost = {case_id: mean if usd is None else usd for case_id, (_, usd) in cases.items()}
    order = in_turns({case_id: key for case_id, (key, _) in cases.items()}, "1")
    assert asked == set(order[: len(asked)])
    tolerance = 1e-6 * (len(cases) + 1)
    assert sum(cost[case_id] for case_id in asked) <= budget + tolerance
    if len(asked) < len(order):
        assert sum(cost[case_id] for case_id in order[: len(asked) + 1]) > budget - tolerance


def test_a_case_without_a_price_costs_the_mean() -> None:
    cases = {"a": ("x", 0.2), "b": ("y", 0.4), "c": ("z", None)}
    assert reached(cases, 0.9) == {"a", "b", "c"}
    assert len(reached(cases, 0.89)) == 2


@pytest.mark.parametrize("state", [ReplayState.UNAFFECTED, ReplayState.RECORDED])
def test_only_what_has_to_be_asked_costs(state: ReplayState) -> None:
    found = Changes({"a": ReplayFinding(state, usd=9.0), "b": ReplayFinding(ReplayState.CHANGED, usd=1.0)})
    assert beyond(found, {"a", "b"}, 1.0, "1") == {}
    assert beyond(found, {"a", "b"}, 0.5, "1").keys() == {"b"}


def test_a_case_that_is_not_chosen_from_costs_nothing() -> None:
    cases: dict[str, tuple[str, float | None]] = {"a": ("x", 1.0), "b": ("y", 1.0)}
    assert beyond(changes(cases), {"a"}, 1.0, "1") == {}
