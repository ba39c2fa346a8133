"""The exit code of a run, by what is found at its end."""

from __future__ import annotations

import pytest

from pytest_recall.trials.run_end import RunFindingKind, exit_code


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        ((), 0),
        (("lost",), 2),
        (("missed",), 1),
        (("missed", "lost"), 1),
        (("left",), 2),
        (("left", "missed"), 2),
        (("left", "nothing"), 1),
        (("nothing",), 1),
        (("failed", "left"), 1),
    ],
)
def test_a_run_that_measured_nothing_or_is_whole_and_below_a_floor_has_1(
    kinds: tuple[RunFindingKind, ...], code: int
) -> None:
    assert exit_code(kinds) == code
