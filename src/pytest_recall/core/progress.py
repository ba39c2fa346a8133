"""Progress: how far a run of cases is, and how long the rest takes at the pace so far."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pytest_recall.core.series import Rule, graded, series
from pytest_recall.core.spend import Bill, spend_of
from pytest_recall.core.trial import Outcome, Trial

FEW = 3
"""So many cases have to be done before their pace says anything of the others."""


class Progress(NamedTuple):
    """How far a run is.

    `done` counts cases and not trials: a case that is asked several times is done when its
    series is decided. Of those `failed` have a fail for a verdict, and `unjudged` have none.
    `total` is None where nobody knows how many cases there are; `spent` is on the live calls
    of all trials so far; `left` are seconds, None where the pace says nothing.
    """

    done: int
    failed: int
    unjudged: int
    total: int | None
    spent: Bill
    left: float | None


def progress(trials: Sequence[Trial], expected: Collection[str], seconds: float) -> Progress:
    """Return how far a run is that has these `trials` after so many `seconds`.

    `expected` are the ids of the cases that are going to run. A trial of another case shows
    that they are not all.
    """
    asked = series(trials)
    ends = [trial.outcome for case_id, trial in graded(trials).items() if _decided(asked[case_id])]
    total = len(set(expected)) if asked.keys() <= set(expected) else None
    rest = 0 if total is None else total - len(ends)
    return Progress(
        done=len(ends),
        failed=ends.count(Outcome.FAILED),
        unjudged=sum(not outcome.is_verdict for outcome in ends),
        total=total,
        spent=spend_of(call for trial in trials for call in trial.calls).spent,
        left=seconds / len(ends) * rest if rest and len(ends) >= FEW else None,
    )


def _decided(trials: Sequence[Trial]) -> bool:
    rule = trials[-1].rule
    return not rule or Rule.parse(rule).decided([trial.outcome for trial in trials]) is not None
