"""Histories of one case, drawn: verdicts on days that go on."""

from __future__ import annotations

from datetime import date

from hypothesis import strategies as st

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.merge import RowStep
from tests.helpers.samples import FAILED, PASSED, TODAY, days, trial

QUARANTINE = Quarantine(4, "ana")


def step(day: date, passed: bool, pr: str | None = None) -> RowStep:
    """Return a verdict on a day."""
    return RowStep(day, trial("", PASSED if passed else FAILED, pr=pr))


@st.composite
def histories(draw: st.DrawFn, *, most: int = 6, first: int = 0) -> list[RowStep]:
    """Draw verdicts, each so many days behind the last one; the first from the day `first` on."""
    found: list[RowStep] = []
    day = TODAY + days(first)
    for number in range(draw(st.integers(0, most))):
        day += days(draw(st.integers(0, 15)))
        found.append(step(day, draw(st.booleans()), str(draw(st.integers(1, 9)) * 10 + number)))
    return found
