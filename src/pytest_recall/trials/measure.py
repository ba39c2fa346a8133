"""Define a measure: a number that an extension computes of each answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_recall.cases.case import Case
    from pytest_recall.trials.trial import Trial


class Measure(NamedTuple):
    """A number that is computed of each answer; the scorecard has its mean."""

    name: str
    """What the journal and the scorecard call it, such as `answer_words`."""
    about: str
    """What it is, in a line."""
    of: Callable[[Case | None, Trial], float | None]
    """Returns the number of a trial, which has an answer, or None where there is none."""
