"""The line that says how far a run is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.runs.progress import Progress, line
from pytest_recall.trials.cost import Bill
from tests.helpers.samples import unhurried

NOTHING = Bill()

counts = st.integers(0, 10_000)
bills = st.builds(lambda calls, usd, unpriced: Bill(calls, usd, min(calls, unpriced)), counts, st.floats(0, 99), counts)


def told(
    done: int = 12,
    failed: int = 0,
    unjudged: int = 0,
    total: int | None = 88,
    spent: Bill = NOTHING,
    left: float | None = None,
) -> str:
    """Return the line, without what is the same in each."""
    return line(Progress(done, failed, unjudged, total, spent, left)).removeprefix("recall: 12 of 88 cases")


def test_all_of_it() -> None:
    found = line(Progress(12, 2, 1, 88, Bill(12, 0.12), 180.0))
    assert found == "recall: 12 of 88 cases, 2 failed, 1 without a verdict, spent $0.12, about 3 min left"


def test_what_is_none_is_left_out() -> None:
    assert told() == ""
    assert told(0, total=1) == "recall: 0 of 1 case"


def test_a_total_that_nobody_knows_is_left_out() -> None:
    assert told(total=None) == "recall: 12 cases"
    assert told(1, total=None) == "recall: 1 case"


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (Bill(3, 0.12), ", spent $0.12"),
        (Bill(3, 0.12, 1), ", spent at least $0.12"),
        (Bill(3, 0.0, 3), ", made 3 calls, price unknown"),
        (Bill(3, 0.0), ", spent $0.00"),
        (Bill(), ""),
    ],
)
def test_what_was_spent(spent: Bill, words: str) -> None:
    assert told(spent=spent) == words


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (0.0, "less than 1 min"),
        (29.0, "less than 1 min"),
        (31.0, "about 1 min"),
        (3_569.0, "about 59 min"),
        (3_571.0, "about 1 h"),
        (6_000.0, "about 1 h 40 min"),
        (3_600_000.0, "about 1,000 h"),
    ],
)
def test_how_long_the_rest_takes(left: float, words: str) -> None:
    assert told(left=left) == f", {words} left"


@unhurried
@given(counts, counts, counts, st.none() | counts, bills, st.none() | st.floats(0, 1e7))
def test_it_is_one_plain_line(
    done: int, failed: int, unjudged: int, total: int | None, spent: Bill, left: float | None
) -> None:
    found = line(Progress(done, failed, unjudged, total, spent, left))
    assert found.isprintable()
    assert found.isascii()
    assert ("failed" in found, "without a verdict" in found) == (failed > 0, unjudged > 0)
    assert ("spent" in found or "unknown" in found) == (spent.calls > 0)
    assert found.endswith(" left") == (left is not None)
