"""Agreement of two raters, against published and independent values."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.agreement import Weights, kappa, percent_agreement
from tests.helpers.samples import unhurried

ratings = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=40)


def items(table: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Return the ratings that a table of counts is of."""
    return [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]


TABLE = items([[44, 5, 1], [7, 20, 3], [9, 5, 6]])


@pytest.mark.parametrize(
    ("weights", "value", "low", "high"),
    [
        # statsmodels 0.15.0, cohens_kappa(wt=…): kappa, and std_kappa times 1.959964
        ("none", 0.49152542372881347, 0.3501582012174869, 0.6328926462401401),
        ("linear", 0.4736842105263158, 0.3228083196113609, 0.6245601014412707),
        ("quadratic", 0.4545454545454546, 0.27034863162707257, 0.6387422774638366),
    ],
)
def test_kappa_with_each_weight(weights: Weights, value: float, low: float, high: float) -> None:
    found = kappa(TABLE, scale=(0, 1, 2), weights=weights)
    assert found is not None
    assert found.value == pytest.approx(value)
    assert found.interval == pytest.approx((low, high))


def test_kappa_is_as_published() -> None:
    # Fleiss, Cohen and Everitt 1969, table 1: 200 diagnoses, kappa 0.429 with a variance of 0.002885
    found = kappa(items([[106, 10, 4], [22, 28, 10], [2, 12, 6]]))
    assert found is not None
    assert found.interval is not None
    assert found.value == pytest.approx(0.429, abs=5e-4)
    assert ((found.interval[1] - found.value) / 1.959964) ** 2 == pytest.approx(0.002885, abs=5e-7)


def test_two_raters_by_hand() -> None:
    """20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: agreement 0.7, by chance 0.5."""
    found = kappa(items([[20, 5], [10, 15]]))
    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert percent_agreement(items([[20, 5], [10, 15]])) == pytest.approx(0.7)


@pytest.mark.parametrize("weights", ["none", "quadratic"])
def test_perfect_agreement_on_few_items_is_no_certainty(weights: Weights) -> None:
    found = kappa([("yes", "yes"), ("no", "no")] * 5, scale=("no", "yes"), weights=weights)
    assert found is not None
    assert found.value == 1.0
    # Wilson: 10 of 10 is 72.25 % at least; by chance it is a half.
    assert found.interval == pytest.approx((1 - (1 - 0.72247) / 0.5, 1.0), abs=1e-4)
    many = kappa([("yes", "yes"), ("no", "no")] * 500)
    assert many is not None
    assert many.interval is not None
    assert many.interval[0] > 0.99
    # One item of a hundred tells the two apart: it is below -1 by this formula, and kappa is not.
    assert kappa([("yes", "yes")] * 99 + [("no", "no")], confidence=0.99) == (1.0, (-1.0, 1.0))


@pytest.mark.parametrize("pairs", [[], [("yes", "yes")], [("yes", "yes")] * 50])
def test_undefined_without_two_answers(pairs: list[tuple[str, str]]) -> None:
    assert kappa(pairs) is None


def test_a_rater_who_always_says_the_same_shows_no_spread() -> None:
    found = kappa([("yes", "yes"), ("no", "yes"), ("yes", "yes")])
    assert found is not None
    assert found.value == pytest.approx(0)
    assert found.interval is None
    against = kappa([("no", "yes")] * 5)
    assert against is not None
    assert (against.value, against.interval) == (0.0, None)


def test_weights_look_at_the_distance() -> None:
    near, far = ([(1, 1), (5, 5), (3, 3), (1, other)] for other in (2, 5))
    by_distance = [kappa(pairs, scale=(1, 2, 3, 4, 5), weights="quadratic") for pairs in (near, far)]
    assert by_distance[0] is not None
    assert by_distance[1] is not None
    assert by_distance[0].value > 0.9 > by_distance[1].value


@given(ratings, st.sampled_from(["none", "linear", "quadratic"]))
@unhurried
def test_kappa_lies_in_its_interval_and_knows_no_order(pairs: list[tuple[int, int]], weights: Weights) -> None:
    scale = (1, 2, 3, 4)
    found = kappa(pairs, scale, weights)
    swapped = kappa([(second, first) for first, second in pairs], scale, weights)
    turned = kappa(pairs, scale[::-1], weights)
    if found is None:
        assert len({rating for pair in pairs for rating in pair}) == 1
        assert (swapped, turned) == (None, None)
        return
    assert swapped is not None
    assert turned is not None
    assert found.value == pytest.approx(swapped.value) == pytest.approx(turned.value)
    assert (found.value == 1) == all(first == second for first, second in pairs)
    if found.interval is not None:
        assert -1 <= found.interval[0] <= found.value + 1e-12
        assert found.value <= found.interval[1] + 1e-12 <= 1 + 1e-9


def test_a_rating_outside_of_the_scale() -> None:
    with pytest.raises(ValueError, match="7 is not in the scale"):
        kappa([(1, 7)], scale=(1, 2, 3))


def test_weights_need_a_scale() -> None:
    with pytest.raises(ValueError, match="weights need the scale"):
        kappa([(1, 2)], weights="linear")


def test_nobody_agrees_on_nothing() -> None:
    assert percent_agreement([]) is None
