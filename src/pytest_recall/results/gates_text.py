"""Report gates, and proposals to raise them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_recall.cases.gate import Gate
from pytest_recall.files import strict_yaml
from pytest_recall.files.sections import Report, Section
from pytest_recall.files.wording import percent, plural
from pytest_recall.results.gates import GateStep
from pytest_recall.results.scorecard import Scorecard
from pytest_recall.results.standing import Standing


def raised(steps: Iterable[GateStep]) -> list[Gate]:
    """Return the gates that may be raised, or added, as they then are."""
    return [step.gate.model_copy(update={"at_least": step.to}) for step in steps if step.to is not None]


def ratchet_report(
    name: str, steps: Iterable[GateStep], added: Sequence[Gate], raised: Sequence[Gate], *, runs: int
) -> Report:
    """Return what becomes of each gate of the rubric, which messages call `name`; `added` are those that are new.

    In JSON `raised_to` is null for a gate that stays, and `why` then says why.
    """
    every = list(steps)
    lines = [_step_words(one, added) for one in every] or [f"{name}: no gates; --add proposes one"]
    write = [gate.model_dump(exclude_defaults=True) for gate in raised]
    facts = {"version": 1, "runs": runs, "gates": [_as_json(one, added) for one in every], "write": write}
    snippet = list(rubric_lines(name, raised))
    return Report("Recall ratchet", [Section("", lines=lines, snippet=snippet)], facts)


def _step_words(step: GateStep, added: Sequence[Gate]) -> str:
    gate = step.gate
    if step.to is None:
        return f"gate `{gate.name}` stays at {gate.at_least:g}: {step.why}{_where(step)}"
    change = "be added at" if gate in added else f"be raised from {gate.at_least:g} to"
    return f"gate `{gate.name}` may {change} {step.to:g}: it held in {plural(step.runs, 'run')}{_where(step)}"


def rubric_lines(name: str, gates: Sequence[Gate]) -> Iterator[str]:
    """Yield the lines to write into the rubric, which messages call `name`, for gates that may be raised or added."""
    if gates:
        yield f"write into {name}, under `gates`, in place of the gates of the same name:"
    for gate in gates:
        yield f"  - {strict_yaml.flow(gate.model_dump(exclude_defaults=True))}"


def _where(step: GateStep) -> str:
    rate = step.lowest.standing.rate if step.lowest else None
    if step.lowest is None or rate is None:
        return ""
    run, standing, _ = step.lowest
    when = f"after {run}" if run else "now"
    return f"; lowest {when}: {percent(rate)}, {standing.passed} of {plural(standing.verdicts, 'last verdict')}"


def _as_json(step: GateStep, added: Sequence[Gate]) -> dict[str, Any]:
    gate, lowest = step.gate, step.lowest
    return {
        "scenario": gate.scenario,
        "dimension": gate.dimension,
        "at_least": None if gate in added else gate.at_least,
        "raised_to": step.to,
        "why": step.why,
        "runs": step.runs,
        "asked": step.asked,
        "lowest": None
        if lowest is None
        else {
            "run": lowest.run or None,
            "rate": lowest.standing.rate,
            "with_verdict": lowest.standing.verdicts,
            "passed": lowest.standing.passed,
        },
    }


def gates_section(card: Scorecard) -> Section:
    """Return how each gate stands, those that do not hold first, and each that this change has loosened."""
    standings = sorted(card.gates, key=lambda one: one.status == "held")
    lines = [*map(line, standings), *card.loosened]
    return Section("Gates", lines=lines, key="gates", facts=[gates_json(standing) for standing in card.gates])


def gates_json(standing: Standing) -> dict[str, Any]:
    """Return how a gate stands as plain JSON types."""
    gate, interval = standing.gate, standing.interval
    return {
        **gate.model_dump(mode="json"),
        "status": standing.status,
        "rate": standing.rate,
        "rate_95": None if interval is None else list(interval),
        "cases": standing.cases,
        "with_verdict": standing.verdicts,
        "fresh": standing.fresh,
        "in_quarantine": standing.apart,
    }


def line(standing: Standing) -> str:
    """Return how a gate stands, in one line."""
    gate = standing.gate
    asked = f"{percent(gate.at_least)} asked"
    if standing.rate is None or standing.interval is None:
        none = f"none of {plural(standing.cases, 'case')}" if standing.cases else "no case is under it"
        return f"gate `{gate.name}` {standing.status}: {none}; {asked}"
    low, high = standing.interval
    apart = f", {standing.apart} in quarantine left out" if standing.apart else ""
    return (
        f"gate `{gate.name}` {standing.status}: {percent(standing.rate)} of {standing.verdicts} last verdicts"
        f" passed (95 %: {percent(low)} to {percent(high)}), {standing.fresh} of them fresh,"
        f" of {plural(standing.cases, 'case')}{apart}; {asked}"
    )
