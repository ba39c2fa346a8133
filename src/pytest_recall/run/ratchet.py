"""Ratchet: how the gates stood after the runs on record, and which of them may ask for more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pytest_recall.core.errors import RecallError, nearest
from pytest_recall.core.gate import Gate, standings
from pytest_recall.core.ratchet import Seen, Step, rows_of_runs, step
from pytest_recall.core.record import Record
from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.series import graded
from pytest_recall.run.gates import gates_of

KINDS = ("scenario", "dimension")
ALL = "all"


def steps(
    rubric: Rubric,
    added: Iterable[Gate],
    records: Iterable[Record],
    cases: Mapping[str, tuple[str, str]],
    rows: Mapping[str, Row],
    runs: int,
) -> list[Step]:
    """Return what is to become of each gate of the rubric and of those to be `added`, which ask for nothing yet.

    `cases` are all cases by id, with scenario and dimension; `rows` is the state; `records` are the runs on record,
    of which those count that the schedule chose and that came to their end.
    """
    gates = (*rubric.gates, *added)
    asked_for = rubric.model_copy(update={"gates": gates})
    seen: list[list[Seen]] = [[] for _ in gates]
    for record, before in rows_of_runs(records, rows):
        if record.exit_code is None:
            continue
        live = {
            case_id: (trial.scenario, trial.dimension)
            for case_id, trial in graded(record.trials).items()
            if trial.outcome.is_verdict
            and trial.evidence
            and not (case_id in before and before[case_id].quarantined is not None)
        }
        for found, standing in zip(seen, gates_of(record, asked_for, cases, before), strict=False):
            asked = frozenset(one for one in live if standing.gate.covers(*cases.get(one, live[one])))
            found.append(Seen(record.header.run, standing, asked))
    now = standings(gates, cases, rows, {})
    return [step(gate, found, stands, runs) for gate, found, stands in zip(gates, seen, now, strict=True)]


def gate_to_add(given: str, cases: Mapping[str, tuple[str, str]], gates: Iterable[Gate]) -> Gate:
    """Return the gate that `--add` names, which asks for nothing yet: `scenario:NAME`, `dimension:NAME` or `all`.

    Raises RecallError for what no case is about, or what has a gate already.
    """
    kind, _, name = given.partition(":")
    if given != ALL and kind not in KINDS:
        raise RecallError(f"--add: {given!r} is no part of the cases; write `scenario:NAME`, `dimension:NAME` or `all`")
    if given != ALL:
        known = {names[KINDS.index(kind)] for names in cases.values()}
        if name not in known:
            raise RecallError(f"--add: the {kind} {name!r} is in no case{nearest(name, known)}")
    fields = {} if given == ALL else {kind: name}
    gate = Gate.model_validate({**fields, "at_least": 0.0})
    if any(gate.about == one.about for one in gates):
        raise RecallError(f"--add: there is a gate for {gate.name} already; leave out --add, and it is raised")
    return gate
