"""What affected cases cost, and which of them a budget reaches."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.changes import Changes, ReplayFinding, ReplayState
from pytest_recall.schedule.spread import AffectedCost, affected_cost, beyond, in_turns
from pytest_recall.trials.series import TrialCount
from tests.helpers.samples import case_ids, unhurried


def finding(usd: float | None, key: str = "", **more: Any) -> ReplayFinding:
    """Return what was found of a case that asks something else."""
    return ReplayFinding(ReplayState.CHANGED, key=key, usd=usd)._replace(**more)


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


def test_a_case_costs_its_trials_and_one_without_a_price_the_mean() -> None:
    changes = Changes(
        {"a": finding(1.0), "b": finding(3.0), "c": finding(None), "d": ReplayFinding(ReplayState.UNAFFECTED)}
    )
    counts = {"a": TrialCount(1, 4), "b": TrialCount(2, 3)}
    assert affected_cost(changes, "abcd", counts) == AffectedCost(3, 1.0 + 6.0 + 2.0, 4.0 + 9.0 + 2.0, borrowed=1)
    assert affected_cost(changes, "ad", counts) == AffectedCost(1, 1.0, 4.0)


def test_without_any_price_nothing_is_known_and_nothing_beyond_the_budget() -> None:
    changes = Changes({"a": finding(None, unpriced=("own",)), "b": finding(None)})
    assert affected_cost(changes, "ab", {}) == AffectedCost(2, unpriced=("own",))
    assert beyond(changes, "ab", 0.01, "s") == frozenset()


def test_the_last_call_has_room_for_what_it_reserves() -> None:
    changes = Changes({name: finding(1.0, headroom=0.5) for name in "abc"})
    assert len(beyond(changes, "abc", 3.0, "s")) == 1
    assert beyond(changes, "abc", 3.5, "s") == frozenset()


def test_what_is_counted_from_texts_and_at_another_price_is_said() -> None:
    changes = Changes({"a": finding(1.0, estimated=True, swapped="old"), "b": finding(1.0)})
    assert affected_cost(changes, "ab", {}) == AffectedCost(2, 2.0, 2.0, estimated=True, swapped=("old",))


def test_a_case_that_is_asked_twice_takes_twice_as_much_of_the_budget() -> None:
    changes = Changes(dict.fromkeys("abcd", finding(1.0)))
    assert len(beyond(changes, "abcd", 3.0, "s")) == 1
    assert len(beyond(changes, "abcd", 3.0, "s", dict.fromkeys("abcd", TrialCount(2, 3)))) == 3


def test_each_difference_is_reached_before_a_second_case_of_one() -> None:
    changes = Changes({**dict.fromkeys("abc", finding(1.0, "x")), "d": finding(1.0, "y")})
    left = beyond(changes, "abcd", 2.0, "s")
    assert "d" not in left


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.none() | st.floats(0, 10), min_size=1),
    st.floats(0.01, 40),
    st.integers(1, 3),
)
def test_what_is_reached_is_expected_to_fit(usd: dict[str, float | None], budget: float, trials: int) -> None:
    changes = Changes({name: finding(one) for name, one in usd.items()})
    counts = dict.fromkeys(usd, TrialCount(trials, 3))
    left = beyond(changes, usd, budget, "s", counts)
    if any(one is not None for one in usd.values()):
        reached = [name for name in usd if name not in left]
        known = [one for one in usd.values() if one is not None]
        mean = sum(known) / len(known)
        cost = sum((mean if (one := usd[name]) is None else one) * trials for name in reached)
        assert cost <= budget + 1e-5 * (len(usd) + 1)
        total = affected_cost(changes, usd, counts)
        assert total.usd == pytest.approx(sum(mean if one is None else one for one in usd.values()) * trials, abs=1e-4)


@pytest.mark.parametrize("state", [ReplayState.UNAFFECTED, ReplayState.RECORDED])
def test_only_what_has_to_be_asked_costs(state: ReplayState) -> None:
    found = Changes({"a": ReplayFinding(state, usd=9.0), "b": ReplayFinding(ReplayState.CHANGED, usd=1.0)})
    assert beyond(found, {"a", "b"}, 1.0, "1") == frozenset()
    assert beyond(found, {"a", "b"}, 0.5, "1") == {"b"}
