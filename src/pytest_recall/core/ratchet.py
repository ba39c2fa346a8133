"""Ratchet: how far a gate may be raised by what has held, and what the state was when it held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pytest_recall.core.gate import Gate, Standing
from pytest_recall.core.record import Record
from pytest_recall.core.row import Row
from pytest_recall.core.schedule import fold
from pytest_recall.core.series import graded

RUNS = 10
"""How many of the last runs have to have held, by default."""


class Seen(NamedTuple):
    """How a gate stood after a past run, by the run's name. `asked` are its cases with a live verdict in that run."""

    run: str
    standing: Standing
    asked: frozenset[str]


class Step(NamedTuple):
    """What is to become of a gate: `to` is its new rate, 0..1, or None where it stays, and `why` says so in words.

    `runs` counts the runs looked at that asked for it anew, and `asked` the cases that these asked; `lowest` is
    where it stood lowest, and last so: in one of them, or now (then its run is empty). It is None where nothing is
    known.
    """

    gate: Gate
    to: float | None
    why: str
    runs: int
    asked: int
    lowest: Seen | None


def step(gate: Gate, seen: Sequence[Seen], now: Standing, runs: int = RUNS) -> Step:
    """Return what is to become of `gate`: raised to the lowest rate of its last `runs` runs and of `now`, or left.

    `seen` are past runs, the oldest first. A run with too few verdicts says nothing. One without a live verdict on
    a case of the gate repeats what an earlier one has found: it is no evidence that the rate has held, but where
    it stood lower, it did not. The rate is rounded down to whole percent. No gate is ever lowered.
    """
    window, count = _last(seen, runs)
    asked = len(frozenset[str]().union(*(one.asked for one in window)))
    known = [one for one in (*window, Seen("", now, frozenset())) if one.standing.status != "too few verdicts"]
    lowest = min(known, key=lambda one: one.standing.rate or 0.0, default=None)
    needed = min(gate.verdicts, now.cases)

    def stays(why: str) -> Step:
        return Step(gate, None, why, count, asked, lowest)

    if gate.at_least >= 1.0:
        return stays("there is nothing above it")
    if not now.cases:
        return stays("no case counts for it")
    if now.status == "too few verdicts":
        return stays(f"too few verdicts now: {now.verdicts} of {now.cases} cases have one, {needed} are needed")
    if count < runs:
        return stays(f"too few runs: {count} have asked its cases, {runs} are needed")
    if asked < needed:
        return stays(f"too few cases: these runs have asked {asked} of them, {needed} are needed")
    assert lowest is not None, "now is known"
    if (lowest.standing.rate or 0.0) < gate.at_least:
        return stays("it has not held")
    # In whole numbers: 100 * 0.29 is less than 29.
    to = 100 * lowest.standing.passed // lowest.standing.verdicts / 100
    return (
        Step(gate, to, "", count, asked, lowest)
        if to > gate.at_least
        else stays("it has held no higher, in whole percent")
    )


def _last(seen: Sequence[Seen], runs: int) -> tuple[list[Seen], int]:
    """Return the end of `seen` that has `runs` runs with a live verdict, or as many as there are, and their count."""
    window: list[Seen] = []
    count = 0
    for one in reversed(seen):
        if count == runs:
            break
        if one.standing.status != "too few verdicts" and one.standing.fresh:
            window.append(one)
            count += bool(one.asked)
    return window, count


def rows_of_runs(records: Iterable[Record], now: Mapping[str, Row]) -> Iterator[tuple[Record, dict[str, Row]]]:
    """Yield runs in the order of their days, each with the rows that it started from, as far as they are known.

    A row is known from an earlier run on record; or from a later one or the state `now`, if its last verdict is of
    a day before. The latest of them is taken. Who is in quarantine now is so throughout, and nobody else.
    """
    runs = sorted(records, key=lambda record: record.header.date)
    told: dict[str, list[Row]] = {case_id: [row] for case_id, row in now.items()}
    for record in runs:
        for trial in record.trials:
            if trial.row is not None and not trial.arm:
                told.setdefault(trial.case_id, []).append(trial.row)
    found: dict[str, Row] = {}
    for record in runs:
        day = date.fromisoformat(record.header.date)
        before: dict[str, Row] = {
            case_id: row for case_id, rows in told.items() if (row := _latest(rows, day)) is not None
        }
        for case_id, row in found.items():
            if case_id not in before or row.last_tested >= before[case_id].last_tested:
                before[case_id] = row
        # Where the run itself says what it started from, nothing else can know better.
        own = {case_id: trial.row for case_id, trial in graded(record.trials).items()}
        before = {case_id: row for case_id, row in {**before, **own}.items() if row is not None}
        apart = {case_id: now[case_id].quarantined if case_id in now else None for case_id in before}
        before = {case_id: row._replace(quarantined=apart[case_id]) for case_id, row in before.items()}
        yield record, before
        if record.header.writes:
            found |= fold(before, record.trials, day)


def _latest(rows: Iterable[Row], day: date) -> Row | None:
    return max((row for row in rows if row.last_tested < day), key=lambda row: row.last_tested, default=None)
