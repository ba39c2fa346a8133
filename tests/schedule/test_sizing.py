"""Sizes that are proposed: enough where the tags tell a part, never beyond what a team should decide on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.schedule.sizing import LEAST, MOST, proposal, proposed_confirm


def tags(parts: int, each: int) -> dict[str, list[str]]:
    return {f"part-{part}": [f"{part}-{number}" for number in range(each)] for part in range(parts)}


@pytest.mark.parametrize(
    ("parts", "each", "slice_cases", "nightly", "caught"),
    [(4, 10, 25, 10, 1.0), (20, 40, 25, 58, 0.75), (200, 25, 25, 358, 0.79), (20, 250, 100, 358, 0.56)],
)
def test_sizes_by_the_size_of_parts(parts: int, each: int, slice_cases: int, nightly: int, caught: float) -> None:
    found = proposal(tags(parts, each), parts * each, 3, 0.8, 0.9)
    assert (found.slice, found.nightly, found.stalest) == (slice_cases, nightly, 14)
    assert found.caught == pytest.approx(caught, abs=0.05)


def test_much_hangs_on_what_the_tags_tell() -> None:
    poor, good = (proposal(tags(20, 250), 5000, 3, recall, 0.9).caught for recall in (0.3, 0.8))
    assert poor < good / 2


def test_without_tags_a_slice_is_a_draw() -> None:
    found = proposal({}, 800, 3, 0.8, 0.9)
    assert found.slice == LEAST
    assert found.caught == found.most == pytest.approx(1 - (1 - 25 / 800) ** 3, abs=0.01)


@given(st.integers(0, 30), st.integers(1, 60), st.integers(1, 9), st.floats(0, 1), st.floats(0, 1))
def test_bounds(parts: int, each: int, breaks: int, recall: float, near_share: float) -> None:
    cases = max(parts * each, 1)
    found = proposal(tags(parts, each), cases, breaks, recall, near_share)
    assert LEAST <= found.slice <= MOST
    assert found.nightly * found.stalest >= cases
    assert 0 <= found.caught <= 1 + 1e-9
    assert found.caught <= found.most + 1e-9


@pytest.mark.parametrize(("flaky", "rule"), [(0, "2of3"), (0.03, "2of3"), (0.05, "2of3"), (0.1, "3of3"), (0.3, "3of3")])
def test_a_fail_is_confirmed_by_how_often_verdicts_are_wrong(flaky: float, rule: str) -> None:
    assert proposed_confirm(flaky) == rule
