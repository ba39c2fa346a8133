"""Change: counts, what is shown at a level, and groups that are tested together."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.change import ChangeSummary, Counts, change, changes
from pytest_recall.metrics.paired import mcnemar
from tests.helpers.samples import unhurried

counts = st.tuples(*[st.integers(0, 40)] * 4).filter(any).map(lambda cells: Counts(sum(cells), *cells[:3]))


@pytest.mark.parametrize(
    ("lost", "gained", "shown"),
    [
        (8, 0, ChangeSummary.DROP),
        (7, 0, ChangeSummary.NOTHING),
        (0, 8, ChangeSummary.RISE),
        (20, 5, ChangeSummary.DROP),
        (20, 8, ChangeSummary.NOTHING),
        (0, 0, ChangeSummary.NOTHING),
    ],
)
def test_what_is_shown(lost: int, gained: int, shown: ChangeSummary) -> None:
    assert change(Counts(100, 60, lost, gained), 0.01).shown is shown


def test_numbers() -> None:
    one = change(Counts(100, 60, 20, 5), 0.01)
    assert (one.base, one.head, one.difference) == (80, 65, -0.15)
    assert one.p == one.adjusted == mcnemar(20, 5)
    assert one.rates[0] == pytest.approx((0.6790, 0.8832), abs=1e-3)
    assert one.interval[0] < -0.15 < one.interval[1] < 0


@given(counts, st.sampled_from([0.05, 0.01]))
@unhurried
def test_the_interval_says_what_the_test_says(found: Counts, alpha: float) -> None:
    """An interval without 0 beside "could be chance" would be read as a proof."""
    one = change(found, alpha)
    low, high = one.interval
    assert low <= one.difference <= high
    if one.shown is ChangeSummary.NOTHING:
        assert low <= 0 <= high
    else:
        assert (high < 0) == (one.shown is ChangeSummary.DROP)
        assert (low > 0) == (one.shown is ChangeSummary.RISE)


def test_groups_are_adjusted_together() -> None:
    found = changes({"fees": Counts(20, 8, 10, 0), "loans": Counts(20, 15, 1, 1), "visits": Counts(20, 15, 2, 1)}, 0.01)
    assert found["fees"].adjusted == pytest.approx(3 * mcnemar(10, 0))
    assert {name: one.shown for name, one in found.items()} == {
        "fees": ChangeSummary.DROP,
        "loans": ChangeSummary.NOTHING,
        "visits": ChangeSummary.NOTHING,
    }
    assert all(one.tests == 3 for one in found.values())


def test_a_flip_that_one_test_would_show_is_not_enough_among_many() -> None:
    groups: dict[str, Counts] = {str(i): Counts(20, 15, 1, 1) for i in range(9)}
    assert changes({"fees": Counts(20, 12, 8, 0)}, 0.01)["fees"].shown is ChangeSummary.DROP
    assert changes({"fees": Counts(20, 12, 8, 0), **groups}, 0.01)["fees"].shown is ChangeSummary.NOTHING


def test_a_group_too_small_to_show_anything_is_no_test() -> None:
    found = changes({"fees": Counts(20, 12, 8, 0), "tiny": Counts(7, 0, 7, 0)}, 0.01)
    assert found["fees"].adjusted == mcnemar(8, 0)
    assert (found["tiny"].adjusted, found["tiny"].shown, found["tiny"].smallest) == (None, ChangeSummary.NOTHING, None)


def test_a_group_whose_cases_have_to_flip_all_is_a_test() -> None:
    # Five flips in one direction have the p-value 2 / 2^5, which is the level here.
    assert changes({"fees": Counts(5, 0, 5, 0)}, 0.0625)["fees"].shown is ChangeSummary.DROP
    assert changes({"fees": Counts(4, 0, 4, 0)}, 0.0625)["fees"] == change(Counts(4, 0, 4, 0), 0.0625)._replace(
        adjusted=None
    )


def test_the_smallest_drop_of_a_group_holds_against_all_groups() -> None:
    alone = change(Counts(50, 40, 4, 2), 0.01).smallest
    among = changes({"a": Counts(50, 40, 4, 2), "b": Counts(50, 40, 4, 2)}, 0.01)["a"].smallest
    assert alone is not None
    assert among is not None
    assert among > alone


def test_shares_are_tested_by_flipping_signs() -> None:
    differences = (Fraction(-3, 5),) * 9 + (Fraction(1, 5),)
    one = change(Counts(20, 12.0, 5.4, 0.2, differences), 0.01)
    # Of 1024 ways only two are as extreme as ten of one sign, and two as the one that was seen.
    assert one.p == 4 / 1024
    assert (one.shown, one.shares, one.fell, one.rose) == (ChangeSummary.DROP, True, 9, 1)
    assert (one.base, one.head, one.difference) == pytest.approx((17.4, 12.2, -0.26))
    assert one.interval[0] < one.difference < one.interval[1]


def test_single_trials_among_shares_come_to_what_mcnemar_says() -> None:
    counts = Counts(30, 20, 8, 1)
    as_shares = counts._replace(differences=(Fraction(-1),) * 8 + (Fraction(1),) + (Fraction(0),) * 21)
    assert as_shares.p == counts.p
