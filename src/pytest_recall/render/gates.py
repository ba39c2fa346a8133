"""Gates as lines: the rate, of how many verdicts, how fresh, how certain, and who asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.core.gate import Standing
from pytest_recall.core.scorecard import Scorecard
from pytest_recall.render.sentences import percent, plural


def lines(card: Scorecard) -> Iterator[str]:
    """Yield a line for each gate, those that do not hold first, and one for each that this change has loosened."""
    for standing in sorted(card.gates, key=lambda one: one.status == "held"):
        yield line(standing)
    yield from card.loosened


def as_json(standing: Standing) -> dict[str, Any]:
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
    informs = ", only informs" if gate.informs else ""
    asked = f"{percent(gate.at_least)} asked{_provenance(standing)}"
    if standing.rate is None or standing.interval is None:
        return f"gate `{gate.name}` {standing.status}{informs}: none of {plural(standing.cases, 'case')}; {asked}"
    low, high = standing.interval
    apart = f", {standing.apart} in quarantine left out" if standing.apart else ""
    return (
        f"gate `{gate.name}` {standing.status}{informs}: {percent(standing.rate)} of {standing.verdicts} last verdicts"
        f" passed (95 %: {percent(low)} to {percent(high)}), {standing.fresh} of them fresh,"
        f" of {plural(standing.cases, 'case')}{apart}; {asked}"
    )


def _provenance(standing: Standing) -> str:
    gate = standing.gate
    told = [
        f"since {gate.since}" if gate.since else "",
        f"#{gate.pr}" if gate.pr else "",
        f"by {gate.owner}" if gate.owner else "",
    ]
    known = ", ".join(part for part in told if part)
    return f" ({known})" if known else ""
