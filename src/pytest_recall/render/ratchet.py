"""Ratchet as lines and as JSON: what is raised, to what and why that is safe, and why the others stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pytest_recall.core.gate import Gate
from pytest_recall.core.ratchet import Step
from pytest_recall.render.sentences import percent, plural


def lines(steps: Iterable[Step], added: Sequence[Gate], *, dry: bool) -> Iterator[str]:
    """Yield a line for each gate; `added` are those that are new."""
    for step in steps:
        gate = step.gate
        if step.to is None:
            yield f"gate `{gate.name}` stays at {gate.at_least:g}: {step.why}{_where(step)}"
            continue
        if gate in added:
            done = f"{'would be ' if dry else ''}added at {step.to:g}"
        else:
            done = f"{'would be ' if dry else ''}raised from {gate.at_least:g} to {step.to:g}"
        yield f"gate `{gate.name}` {done}: it held in {plural(step.runs, 'run')}{_where(step)}"


def _where(step: Step) -> str:
    rate = step.lowest.standing.rate if step.lowest else None
    if step.lowest is None or rate is None:
        return ""
    run, standing, _ = step.lowest
    when = f"after {run}" if run else "now"
    return f"; lowest {when}: {percent(rate)}, {standing.passed} of {plural(standing.verdicts, 'last verdict')}"


def as_json(steps: Iterable[Step], added: Sequence[Gate], *, dry: bool, runs: int) -> dict[str, Any]:
    """Return the same as plain JSON types; `raised_to` is null for a gate that stays, and `why` then says why."""
    return {"version": 1, "dry_run": dry, "runs": runs, "gates": [_as_json(step, added) for step in steps]}


def _as_json(step: Step, added: Sequence[Gate]) -> dict[str, Any]:
    gate, lowest = step.gate, step.lowest
    return {
        "scenario": gate.scenario,
        "dimension": gate.dimension,
        "metric": gate.metric,
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
