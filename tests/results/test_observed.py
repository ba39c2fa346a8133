"""What a run of everything says of the slice that the schedule would have run in its place."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.results.observed import Observed, line
from pytest_recall.trials.cost import Bill


def observed(**more: Any) -> Observed:
    """Return a run of five cases, two of which the slice has."""
    given: dict[str, Any] = {"caught": (), "missed": (), "saved": Bill(), "spent": Bill(), **more}
    return Observed("a", "2026-03-10", 5, 2, **given)


TOLD = "observed: the slice would have run 2 of 5 cases"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, ", and there was no regression to miss; it would have saved 3 cases"),
        ({"caught": ("a",)}, " and missed none of 1 regression; it would have saved 3 cases"),
        (
            {"caught": ("a",), "missed": ("b",), "saved": Bill(2, 0.5), "spent": Bill(3, 1.25)},
            " and missed 1 of 2 regressions (b); it would have saved 3 cases and $0.50 of $1.25",
        ),
        (
            {"saved": Bill(2, 0.0, 2), "spent": Bill(3, 1.25, 2)},
            ", and there was no regression to miss; it would have saved 3 cases, at a price that is unknown",
        ),
    ],
)
def test_a_line_of_it(given: dict[str, Any], said: str) -> None:
    assert line(observed(**given)) == TOLD + said
