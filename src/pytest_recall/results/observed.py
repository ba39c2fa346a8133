"""For `--recall-mode observe`: compute what the slice would have run, missed and saved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pytest_recall.files.sections import Report, Section
from pytest_recall.files.wording import listed, plural
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.trials.cost import Bill, added, spend_of
from pytest_recall.trials.cost_text import price
from pytest_recall.trials.record import Record


class Observed(NamedTuple):
    """One run of everything beside the slice that the schedule would have run in its place."""

    run: str
    date: str
    cases: int
    """How many came to a trial."""
    sliced: int
    """How many of these are in the slice."""
    caught: tuple[str, ...]
    """The regressions within the slice."""
    missed: tuple[str, ...]
    """The regressions outside of it."""
    saved: Bill
    """On the live calls of the cases outside."""
    spent: Bill
    """On the live calls of all cases."""


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
        cases=len(results),
        sliced=sum(result.trial.case_id in chosen for result in results),
        caught=tuple(case_id for case_id in regressions if case_id in chosen),
        missed=tuple(case_id for case_id in regressions if case_id not in chosen),
        saved=spend_of(outside).spent,
        spent=spend_of(call for trial in trials for call in trial.calls).spent,
    )


def observed_report(runs: Sequence[Observed]) -> Report:
    """Return what each run says, oldest first, and all of them together. They are one or more."""
    every = together(runs)
    lines = [f"{one.run}: {line(one).removeprefix('observed: ')}" for one in runs]
    if len(runs) > 1:
        lines.append(f"together, {plural(len(runs), 'run')}: {line(every).removeprefix('observed: ')}")
    facts = {"version": 1, "runs": [_facts(one) for one in runs], "together": _facts(every)}
    return Report("Recall observed", [Section("", lines=[*lines, CAVEAT])], facts)


def _facts(one: Observed) -> dict[str, Any]:
    """Return plain JSON types; amounts are in US dollars, null where nothing is known of them."""
    return {
        "run": one.run,
        "date": one.date,
        "cases": one.cases,
        "slice": one.sliced,
        "regressions": len(one.caught) + len(one.missed),
        "caught": list(one.caught),
        "missed": list(one.missed),
        "saved": _plain(one.saved),
        "spent": _plain(one.spent),
    }


CAVEAT = (
    "Each slice was chosen from a state that knows the verdicts of all cases in the runs before it, which a slice would"
    " not have had."
)


def observed_section(one: Observed) -> Section:
    """Return what one run says of the slice."""
    return Section("Observed", lines=[line(one), CAVEAT], key="observed", facts=_facts(one))


def line(one: Observed) -> str:
    """Return what one run says of the slice."""
    seen = len(one.caught) + len(one.missed)
    told = f"observed: the slice would have run {one.sliced} of {plural(one.cases, 'case')}"
    if not seen:
        told += ", and there was no regression to miss"
    elif one.missed:
        told += f" and missed {len(one.missed)} of {plural(seen, 'regression')} ({listed(one.missed)})"
    else:
        told += f" and missed none of {plural(seen, 'regression')}"
    return f"{told}; it would have saved {plural(one.cases - one.sliced, 'case')}{_money(one)}"


def _plain(bill: Bill) -> dict[str, Any]:
    return {"usd": bill.known, "unpriced_calls": bill.unpriced, "estimated": bool(bill.estimated)}


def _money(one: Observed) -> str:
    if not one.spent.calls:
        return ""
    if one.spent.known is None or one.saved.known is None:
        return ", at a price that is unknown"
    return f" and {price(one.saved)} of {price(one.spent)}"


def together(runs: Sequence[Observed]) -> Observed:
    """Return all of `runs` as one; a regression counts in each run that saw it. They are one or more."""
    return Observed(
        run=f"{runs[0].run} to {runs[-1].run}",
        date=f"{runs[0].date} to {runs[-1].date}",
        cases=sum(run.cases for run in runs),
        sliced=sum(run.sliced for run in runs),
        caught=tuple(case_id for run in runs for case_id in run.caught),
        missed=tuple(case_id for run in runs for case_id in run.missed),
        saved=added(run.saved for run in runs),
        spent=added(run.spent for run in runs),
    )
