"""The sign-flip test: against all ways to choose the signs, one by one, and its level."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.paired import DRAWS, mcnemar, sign_flip
from tests.helpers.samples import unhurried

shares = st.builds(Fraction, st.integers(-6, 6), st.sampled_from([1, 3, 5, 6]))
some = st.lists(shares, max_size=8)


def one_by_one(differences: list[Fraction]) -> float:
    """Return the p-value by trying all signs."""
    none = Fraction(0)
    seen = abs(sum(differences, none))
    ways = list(product((1, -1), repeat=len(differences)))
    extreme = sum(abs(sum((s * d for s, d in zip(signs, differences, strict=True)), none)) >= seen for signs in ways)
    return extreme / len(ways)


@given(some)
@unhurried
def test_it_is_the_share_of_all_signs_that_are_as_extreme(differences: list[Fraction]) -> None:
    assert sign_flip(differences) == pytest.approx(one_by_one(differences), rel=1e-12)


@given(some, st.sampled_from([0.01, 0.05, 0.2]))
@unhurried
def test_it_alarms_no_more_often_than_its_level(sizes: list[Fraction], alpha: float) -> None:
    ways = list(product((1, -1), repeat=len(sizes)))
    alarms = sum(sign_flip([s * d for s, d in zip(signs, sizes, strict=True)]) <= alpha for signs in ways)
    assert alarms <= alpha * len(ways)


@given(st.integers(0, 60), st.integers(0, 60))
@unhurried
def test_of_one_size_it_is_the_exact_mcnemar_test(lost: int, gained: int) -> None:
    differences = [Fraction(-2, 5)] * lost + [Fraction(2, 5)] * gained + [Fraction(0)] * 3
    assert sign_flip(differences) == pytest.approx(mcnemar(lost, gained), rel=1e-12)


@given(some)
@unhurried
def test_neither_the_direction_nor_the_unit_matters(differences: list[Fraction]) -> None:
    p = sign_flip(differences)
    assert sign_flip([-one for one in differences]) == p
    assert sign_flip([one / 7 for one in differences]) == p


def test_thousands_of_pairs_are_counted() -> None:
    many = [Fraction(-1, 5)] * 700 + [Fraction(1, 5)] * 600 + [Fraction(3, 5)] * 20
    # The normal approximation: a sum of 8, less half a step of 0.4, by a standard deviation of sqrt(1480 / 25).
    assert sign_flip(many) == pytest.approx(2 * NormalDist().cdf(-7.8 / sqrt(1480 / 25)), rel=0.001)


@pytest.mark.parametrize("lean", [0, 12, 25])
def test_drawn_signs_come_near_to_all_of_them(lean: int) -> None:
    differences = [Fraction(-1, 5)] * (40 + lean) + [Fraction(1, 5)] * 40 + [Fraction(2, 5)] * 5
    drawn = sign_flip(differences, most_bits=0)
    assert drawn == pytest.approx(sign_flip(differences), abs=0.01)
    assert drawn == sign_flip(differences, most_bits=0)


def test_signs_are_drawn_alike_on_every_machine() -> None:
    differences = [Fraction(-1, 5)] * 44 + [Fraction(1, 5)] * 36
    assert sign_flip(differences, most_bits=0) == 8743 / (DRAWS + 1)


def test_drawn_signs_never_come_to_nothing() -> None:
    assert sign_flip([Fraction(-1)] * 200, most_bits=0) == 1 / (DRAWS + 1)
