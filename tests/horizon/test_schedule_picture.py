"""The picture of a simulation: drawn for any figures, the same bytes each time, and one sentence without matplotlib."""

from __future__ import annotations

import sys

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.horizon.pictures import draw_schedules
from pytest_recall.schedule.simulated import Figures, summed_up

pytest.importorskip("matplotlib")
FULL = Figures(
    "literal", 60.0, 2.4, (0, 1, 80), 600, 3, 12.0, 20.0, 29.0, 0.4, 9, 0.1, 0.8, 1.0, 2.0, (2.0, 9.0), (3.0,)
)
OTHER = FULL._replace(policy="lottery", caught=0.7, usd=8.0, delays=(1.0, 2.0, 3.0), waits=())
BARE = Figures("literal", 0.0, None, (0, 0, 0), 0, 0, None, None, None, None, 0, None, None, 0.0, 0.0)

HALF = [FULL], [BARE]


@pytest.mark.parametrize(
    "figures",
    [([FULL, FULL._replace(caught=0.3)], [OTHER]), ([BARE], [BARE._replace(policy="lottery")]), HALF],
    ids=["full", "bare", "half"],
)
def test_any_figures_are_drawn_and_always_the_same(figures: tuple[list[Figures], list[Figures]]) -> None:
    sums = [summed_up(one) for one in figures]
    drawn = draw_schedules(sums, "Two schedules", "a note")
    assert drawn.startswith(b"\x89PNG\r\n\x1a\n")
    if figures == HALF:  # It has figures of both others.
        assert drawn == draw_schedules(sums, "Two schedules", "a note")


def test_without_matplotlib_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(RecallError, match=r"pip install 'pytest-recall\[pictures\]'"):
        draw_schedules([summed_up([FULL]), summed_up([OTHER])], "", "")
