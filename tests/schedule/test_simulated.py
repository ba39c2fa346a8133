"""Figures of several seeds as one, the share that is found by a day, and cases by what a change touches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.simulated import Figures, found_by, parts, summed_up, waited
from tests.helpers.samples import case, unhurried

BARE = Figures("p", 10.0, 1.0, (1, 2, 3), 9, 0, None, None, None, None, 0, None, None, 0.0, 0.0)


def test_delays_in_four_figures() -> None:
    assert waited([]) == (None, None, None, None)
    mean, p95, longest, in_a_week = waited([8.0, 2.0, 7.0, 3.0])
    assert (mean, longest, in_a_week) == (5.0, 8.0, 0.75)
    assert p95 == pytest.approx(7.85)


def test_cases_are_by_tag_and_without_one_by_scenario() -> None:
    cases = [
        case(id="a", tags=["money", "slow"]),
        case(id="b", tags=["money"]),
        case(id="c", scenario="greetings"),
    ]
    assert parts(cases) == ({"money": ["a", "b"], "slow": ["a"]}, {"greetings": ["c"]})


def test_seeds_become_one() -> None:
    one = BARE._replace(caught=0.5, bad=4, delay=3.0, p95=6.0, longest=7.0, broke=2, delays=(2.0, 4.0))
    other = BARE._replace(a_day=14.0, caught=0.7, bad=6, slice=(0, 4, 5), longest_night=4, broke=1, waits=(3.0,))
    found = summed_up([one, other])

    assert (found.seeds, found.a_day.value, found.slice, found.longest_night) == (2, 12.0, (0, 4, 5), 9)
    assert (found.bad, found.broke, found.longest) == (10, 3, 7.0)
    assert found.caught.value == pytest.approx(0.6)
    assert (found.caught.low, found.caught.high) == (0, 1), "of two seeds little is known, and no share is beyond 1"
    assert (found.delay.value, found.delay.n, found.delay.low) == (3.0, 1, None), "the other one has nothing to say"
    assert found.demotions.value == 0


def test_a_price_that_nobody_knows_stays_unknown() -> None:
    assert summed_up([BARE._replace(usd=None)]).usd.value is None


def test_a_case_that_broke_at_the_end_says_nothing_of_later_days() -> None:
    # By hand: of four one is found on day 1; one is lost sight of on day 2; of two left one is found on day 3.
    assert list(found_by([1.0, 3.0, 5.0], [2.0])) == [(1.0, 0.25), (3.0, pytest.approx(0.625)), (5.0, 1.0)]
    assert list(found_by([], [1.0])) == []


@unhurried
@given(st.lists(st.floats(0, 99), max_size=20), st.lists(st.floats(0, 99), max_size=20))
def test_shares_rise_from_nothing_to_all_at_most(delays: list[float], waits: list[float]) -> None:
    found = list(found_by(delays, waits))
    shares = [share for _, share in found]

    assert [days for days, _ in found] == sorted(delays)
    assert shares == sorted(shares)
    assert all(0 < share <= 1 + 1e-9 for share in shares)
    if not waits:
        assert shares == pytest.approx([(at + 1) / len(delays) for at in range(len(delays))])
