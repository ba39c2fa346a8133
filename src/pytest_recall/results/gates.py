"""Compute how the gates of a run stand and how far they may be raised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import gates_in
from pytest_recall.files.errors import RecallError, nearest
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.git import Repository
from pytest_recall.results.standing import Standing, loosened, standings
from pytest_recall.schedule.boxes import fold
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Row

RUNS = 10
"""How many of the last runs have to have held, by default."""


class PastGate(NamedTuple):
    """How a gate stood after a past run."""

    run: str
    """By name."""
    standing: Standing
    asked: frozenset[str]
    """The gate's cases with a live verdict in that run."""


class GateStep(NamedTuple):
    """What is to become of a gate."""

    gate: Gate
    to: float | None
    """Its new rate, from 0 to 1; None where it stays."""
    why: str
    """Says so in words."""
    runs: int
    """How many of the runs looked at asked for it again."""
    asked: int
    """How many cases these asked."""
    lowest: PastGate | None
    """Where it stood lowest, and last so: in one of these runs, or now, with an empty run; None where nothing is
    known."""


def step(gate: Gate, seen: Sequence[PastGate], now: Standing, runs: int = RUNS) -> GateStep:
    """Return what is to become of `gate`: raised to the lowest rate of its last `runs` runs and of `now`, or left.

    `seen` are past runs, the oldest first. A run with too few verdicts says nothing. One without a live verdict on
    a case of the gate repeats what an earlier one has found: it does not show that the rate has held, but where
    it stood lower, it did not. The rate is rounded down to whole percent. No gate is ever lowered.
    """
    window, count = _last(seen, runs)
    asked = len(frozenset[str]().union(*(one.asked for one in window)))
    known = [one for one in (*window, PastGate("", now, frozenset())) if one.standing.status != "too few verdicts"]
    lowest = min(known, key=lambda one: one.standing.rate or 0.0, default=None)
    needed = min(gate.verdicts, now.cases)

    def stays(why: str) -> GateStep:
        return GateStep(gate, None, why, count, asked, lowest)

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
        GateStep(gate, to, "", count, asked, lowest)
        if to > gate.at_least
        else stays("it has held no higher, in whole percent")
    )


def _last(seen: Sequence[PastGate], runs: int) -> tuple[list[PastGate], int]:
    """Return the end of `seen` that has `runs` runs with a live verdict, or as many as there are, and their count."""
    window: list[PastGate] = []
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
    a day before. The latest of them is taken. Who is in quarantine now is so throughout, and no one else.
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


def gates_of(
    record: Record, rubric: Settings, cases: Mapping[str, tuple[str, str]], rows: Mapping[str, Row]
) -> tuple[Standing, ...]:
    """Return how the rubric's gates stand after a run over a schedule; none after one whose cases someone chose.

    `cases` are all cases by id, with scenario and dimension; those that the run has found beside them count as well.
    """
    if not rubric.gates or not record.header.scheduled:
        return ()
    trials = graded(record.trials)
    own = {case_id: (trial.scenario, trial.dimension) for case_id, trial in trials.items() if trial.scenario}
    return standings(rubric.gates, {**cases, **own}, rows, trials)


def loosened_gates(place: Place, gates: tuple[Gate, ...], base: str) -> tuple[str, ...]:
    """Return which gates ask for less than at the commit `base`; none where there is none, or git does not have it."""
    if not base:
        return ()
    try:
        before = Repository(place.root).text_beside(base, place.rubric)
    except RecallError:
        return ()
    return () if before is None else tuple(loosened(gates_in(before), gates))


KINDS = ("scenario", "dimension")
ALL = "all"


def steps(
    rubric: Settings,
    added: Iterable[Gate],
    records: Iterable[Record],
    cases: Mapping[str, tuple[str, str]],
    rows: Mapping[str, Row],
    runs: int,
) -> list[GateStep]:
    """Return what is to become of each gate of the rubric and of those to be `added`, which ask for nothing yet.

    `cases` are all cases by id, with scenario and dimension; `rows` is the state; `records` are the runs on record,
    of which those count that the schedule chose and that came to their end.
    """
    gates = (*rubric.gates, *added)
    asked_for = rubric.model_copy(update={"gates": gates})
    seen: list[list[PastGate]] = [[] for _ in gates]
    for record, before in rows_of_runs(records, rows):
        if record.exit_code is None:
            continue
        live = {
            case_id: (trial.scenario, trial.dimension)
            for case_id, trial in graded(record.trials).items()
            if trial.outcome.is_verdict
            and trial.counts_for_schedule
            and not (case_id in before and before[case_id].quarantined is not None)
        }
        for found, standing in zip(seen, gates_of(record, asked_for, cases, before), strict=False):
            asked = frozenset(one for one in live if standing.gate.covers(*cases.get(one, live[one])))
            found.append(PastGate(record.header.run, standing, asked))
    now = standings(gates, cases, rows, {})
    return [step(gate, found, stands, runs) for gate, found, stands in zip(gates, seen, now, strict=True)]


def gate_to_add(given: str, cases: Mapping[str, tuple[str, str]], gates: Iterable[Gate]) -> Gate:
    """Return the gate that `--add` names, which asks for nothing yet: `scenario:NAME`, `dimension:NAME` or `all`.

    Raises RecallError for what no case is about, or what has a gate already.
    """
    kind, _, name = given.partition(":")
    if given != ALL and kind not in KINDS:
        raise RecallError(
            f"--add: {given!r} is not a part of the cases; write `scenario:NAME`, `dimension:NAME` or `all`"
        )
    if given != ALL:
        known = {names[KINDS.index(kind)] for names in cases.values()}
        if name not in known:
            raise RecallError(f"--add: the {kind} {name!r} is in no case{nearest(name, known)}")
    fields = {} if given == ALL else {kind: name}
    gate = Gate.model_validate({**fields, "at_least": 0.0})
    if any(gate.about == one.about for one in gates):
        raise RecallError(
            f"--add: there is a gate for {gate.name} already; leave out --add, and see how far it may be raised"
        )
    return gate
