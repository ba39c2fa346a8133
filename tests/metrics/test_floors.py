"""Floors and the ceiling: what they return within a budget."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.floors import (
    DRAWS,
    FULL,
    LAST,
    NOTHING,
    ORACLE,
    RANDOM,
    SizedUnit,
    discriminates,
    handed_out,
)

TOLD = [SizedUnit("a", 10), SizedUnit("b", 20), SizedUnit("c", 30), SizedUnit("d", 40)]
told = st.lists(st.integers(1, 50), max_size=12).map(lambda sizes: [SizedUnit(str(n), x) for n, x in enumerate(sizes)])


@pytest.mark.parametrize(
    ("budget", "last", "oracle"),
    [(0, "", ""), (30, "d", "c"), (40, "d", "ca"), (41, "dc", "ca"), (95, "dcba", "ca"), (100, "dcba", "ca")],
)
def test_units_are_begun_until_the_budget_is_used_up(budget: int, last: str, oracle: str) -> None:
    found = handed_out(TOLD, ["c", "a"], budget, "seed")
    assert (found[NOTHING], found[LAST], found[ORACLE]) == ([()], [tuple(last)], [tuple(oracle)])
    assert found.get(FULL) == ([tuple("abcd")] if budget == 100 else None)


@given(told, st.floats(0, 400), st.text(max_size=5))
def test_draws_are_without_replacement_and_within_the_budget(units: list[SizedUnit], budget: float, seed: str) -> None:
    sizes = dict(units)
    draws = handed_out(units, (), budget, seed)[RANDOM]
    assert len(draws) == DRAWS
    for ids in draws:
        assert len(ids) == len(set(ids))
        assert sum(sizes[id] for id in ids[:-1]) < budget or not ids
        assert sum(sizes[id] for id in ids) >= budget or len(ids) == len(units)
    assert draws == handed_out(units, (), budget, seed)[RANDOM]


def test_each_unit_is_drawn_as_often_as_any_other() -> None:
    units = [SizedUnit(str(n), 1) for n in range(8)]
    drawn = Counter(id for seed in range(400) for ids in handed_out(units, (), 2, str(seed))[RANDOM] for id in ids)
    assert len(drawn) == 8
    assert all(abs(count - 100 * DRAWS) < 15 * DRAWS for count in drawn.values())


@pytest.mark.parametrize(
    ("low", "count", "floors", "expected"),
    [
        (0.5, 2, [0.1, 0.4], True),
        (0.5, 2, [0.1, 0.5], False),
        (0.5, 1, [0.1], False),
        (0.5, 2, [], None),
        (None, 2, [0.1], None),
    ],
)
def test_what_finds_more_than_every_floor_discriminates(
    low: float | None, count: int, floors: list[float], expected: bool | None
) -> None:
    assert discriminates(low, count, floors) is expected
