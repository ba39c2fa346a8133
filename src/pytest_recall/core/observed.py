"""Observed: what a slice would have run, missed and saved, in runs of everything that were told the slice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_recall.core.record import Record
from pytest_recall.core.scorecard import Scorecard
from pytest_recall.core.spend import Bill, added, spend_of


class Observed(NamedTuple):
    """One run of everything beside the slice that the schedule would have run in its place.

    `cases` are those that came to a trial, `sliced` those of them in the slice; `caught` and `missed` are the
    regressions within the slice and outside of it. `spent` is on the live calls of all cases, and `saved` on those
    of the cases outside.
    """

    run: str
    date: str
    policy: str
    cases: int
    sliced: int
    caught: tuple[str, ...]
    missed: tuple[str, ...]
    saved: Bill
    spent: Bill


def observed(record: Record, card: Scorecard) -> Observed:
    """Return what a run says of the slice that its header has; `card` is its scorecard."""
    header = record.header
    chosen = {case_id for case_id, _ in header.observed}
    scheduled = {case_id for case_id, reason in header.picks if reason == "all"}
    results = [result for result in card.results if result.trial.case_id in scheduled]
    regressions = sorted(result.trial.case_id for result in results if result.regression)
    trials = [trial for trial in record.trials if not trial.arm and trial.case_id in scheduled]
    outside = [call for trial in trials if trial.case_id not in chosen for call in trial.calls]
    return Observed(
        run=header.run,
        date=header.date,
        policy=header.policy,
        cases=len(results),
        sliced=sum(result.trial.case_id in chosen for result in results),
        caught=tuple(case_id for case_id in regressions if case_id in chosen),
        missed=tuple(case_id for case_id in regressions if case_id not in chosen),
        saved=spend_of(outside).spent,
        spent=spend_of(call for trial in trials for call in trial.calls).spent,
    )


def together(runs: Sequence[Observed]) -> Observed:
    """Return all of `runs` as one; a regression counts in each run that saw it. They are one or more."""
    return Observed(
        run=f"{runs[0].run} to {runs[-1].run}",
        date=f"{runs[0].date} to {runs[-1].date}",
        policy=", ".join(dict.fromkeys(run.policy for run in runs)),
        cases=sum(run.cases for run in runs),
        sliced=sum(run.sliced for run in runs),
        caught=tuple(case_id for run in runs for case_id in run.caught),
        missed=tuple(case_id for run in runs for case_id in run.missed),
        saved=added(run.saved for run in runs),
        spent=added(run.spent for run in runs),
    )
