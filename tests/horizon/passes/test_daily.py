"""Daily: days cut into stretches, and why days are left out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.horizon.passes.daily import LeftOut, reasons, stretches


@given(st.lists(st.integers(), max_size=40), st.integers(1, 50))
def test_stretches_are_the_days_in_their_order(days: list[int], number: int) -> None:
    found = stretches(days, number)
    assert [day for stretch in found for day in stretch] == days
    lengths = [len(stretch) for stretch in found]
    assert len(found) == min(number, len(days))
    assert not lengths or max(lengths) - min(lengths) <= 1


def test_days_with_one_reason_are_one_sentence() -> None:
    left_out = [LeftOut(day, "no key") for day in range(1, 13)] + [LeftOut(20, "the reply is a refusal")]
    assert reasons(left_out) == [
        "days 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more left out: no key; the same command asks them again",
        "day 20 left out: the reply is a refusal; the same command asks it again",
    ]
