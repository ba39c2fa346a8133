"""Whether a memory still holds what it was given."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.cases.memory_part import Unit
from pytest_recall.memory.session import Readback, sample, seen
from pytest_recall.trials.trial import Passage

UNIT = Unit(id="car", content="Bob's car is red, and old")
NOTHING = Readback(stored=1)


@pytest.mark.parametrize(
    ("passages", "same", "changed", "missing"),
    [
        ([Passage(text="other"), Passage(text=UNIT.content)], 1, 0, 0),
        ([Passage(text=UNIT.content, source="another id")], 1, 0, 0),
        ([Passage(text="The car is of a red colour", source="car")], 0, 1, 0),
        ([Passage(text=f"2026: {UNIT.content} (Bob)")], 0, 1, 0),
        ([Passage(text="Bob's car is red and old.")], 0, 1, 0),
        ([Passage(text="Bob's car is red and old.", source="pump")], 0, 0, 1),
        ([Passage(text="The pump burned out")], 0, 0, 1),
        ([Passage(text="")], 0, 0, 1),
        ([], 0, 0, 1),
    ],
)
def test_a_unit_is_the_same_changed_or_missing(passages: list[Passage], same: int, changed: int, missing: int) -> None:
    assert seen(NOTHING, UNIT, passages) == Readback(stored=1, asked=1, same=same, changed=changed, missing=missing)


@given(st.integers(0, 60), st.integers(0, 20))
def test_a_sample_is_spread_evenly_and_always_the_same(count: int, wanted: int) -> None:
    units = [Unit(id=str(n), content=str(n)) for n in range(count)]
    chosen = sample(units, wanted)
    assert len(chosen) == min(count, wanted)
    assert len({unit.id for unit in chosen}) == len(chosen)
    assert chosen == sample(units, wanted)
    places = [int(unit.id) for unit in chosen]
    assert places == sorted(places)
    if chosen:
        assert places[0] == 0
        steps = {later - earlier for earlier, later in pairwise(places)}
        assert not steps or max(steps) - min(steps) <= 1


def test_sums_and_words() -> None:
    one = Readback(stored=3, asked=2, same=1, changed=1, held=2)
    both = one + Readback(stored=1, asked=1, missing=1, held=1)
    assert both == Readback(stored=4, asked=3, same=1, changed=1, missing=1, held=3)
    assert str(both) == (
        "stored 4 units, of which it says it holds 3; of 3 asked back, 1 came as they were, 1 changed, 1 not at all"
    )
    assert (one + NOTHING).held is None
    assert str(NOTHING) == "stored 1 unit"
