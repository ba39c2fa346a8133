"""The exit code of a run without pytest, by what is found at its end."""

from __future__ import annotations

from typing import Literal

import pytest

from pytest_recall.trials.run_end import RunFinding, exit_code

Kind = Literal["nothing", "left", "missed", "lost"]


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
    ],
)
def test_a_run_that_measured_nothing_or_is_whole_and_below_a_floor_has_1(kinds: tuple[Kind, ...], code: int) -> None:
    assert exit_code(RunFinding(kind, "x") for kind in kinds) == code
