"""Compute how far a run is and how long the rest takes, and word the line that says so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from pytest_recall.files.pace import FEW, about
from pytest_recall.files.wording import plural
from pytest_recall.models.batch import batched
from pytest_recall.trials.cost import Bill, spend_of
from pytest_recall.trials.cost_text import UNKNOWN, price
from pytest_recall.trials.series import graded, parse_rule, series
from pytest_recall.trials.trial import Outcome, Trial


class Progress(NamedTuple):
    """How far a run is, in cases and not in trials."""

    done: int
    """How many cases are decided; one that is asked several times is when its series is."""
    failed: int
    """How many of these have a fail for a verdict."""
    unjudged: int
    """How many of these have no verdict."""
    total: int | None
    """None where no one knows how many cases there are."""
    spent: Bill
    """On the live calls of all trials so far."""
    left: float | None
    """In seconds; None where the pace says nothing."""


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
    return not rule or parse_rule(rule).decided([trial.outcome for trial in trials]) is not None


def line(progress: Progress, waiting: int = 0, batches: int = 0) -> str:
    """Return how far a run is in one line; what is none or not known is left out.

    `waiting` calls wait in so many `batches`.
    """
    of = plural(progress.done, "case")
    if progress.total is not None:
        of = f"{progress.done:,} of {plural(progress.total, 'case')}"
    parts = [of]
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.unjudged:
        parts.append(f"{progress.unjudged:,} without a verdict")
    spent = progress.spent
    if spent.calls and spent.known is None:
        parts.append(f"made {plural(spent.calls, 'call')}, price {UNKNOWN}")
    elif spent.calls:
        parts.append(f"spent {price(spent)}")
    if waiting:
        parts.append(f"{plural(waiting, 'call')} {'waits' if waiting == 1 else 'wait'} in {batched(batches)}")
    if progress.left is not None:
        parts.append(f"{about(progress.left)} left")
    return f"recall: {', '.join(parts)}"
