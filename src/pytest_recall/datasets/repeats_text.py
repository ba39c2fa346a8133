"""Render what a memory came to after each of several ingests, as terminal lines and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pytest_recall.datasets.datasets_text import SHOWN
from pytest_recall.datasets.membench import MembenchSummary
from pytest_recall.datasets.repeats import Ingest, RepeatedResult
from pytest_recall.files.wording import grid
from pytest_recall.trials.cost_text import cost_json


def ingest_lines(result: RepeatedResult, summary: MembenchSummary) -> Iterator[str]:
    """Yield the table of the ingests, a row for each, with the standard deviation of their means."""
    group = summary.everything
    spreads = {name: group.spreads[name] for name in SHOWN if name in group.spreads}
    rows = [
        (
            str(number),
            f"{own.n:,}",
            f"{own.failures:,}",
            *(_cell(spread.means[number - 1]) for spread in spreads.values()),
        )
        for number, own in enumerate((one.found.summary.everything for one in result.ingests), start=1)
    ]
    if len(rows) > 1:
        rows.append(("SD", "", "", *(_cell(spread.deviation) for spread in spreads.values())))
    yield from grid(("ingest", "n", "failed", *(SHOWN[name] for name in spreads)), rows)
    if len(rows) < 2:
        yield "of a single ingest nothing is known of others, and no interval has it in"
    elif not result.complete:
        yield "SD: over the questions that were asked after each of these ingests"
    elif all(spread.deviation == 0 for spread in spreads.values()):
        yield "all ingests have the same means: this memory stores equal texts in the same way"


def ingests_json(result: RepeatedResult) -> dict[str, Any]:
    """Return the same as plain JSON types, with what the calls about each ingest came to."""
    return {"repeat": result.wanted, "complete": result.complete, "repeats": list(map(_ingest, result.ingests))}


def _ingest(one: Ingest) -> dict[str, Any]:
    summary = one.found.summary
    everything = summary.everything
    return {
        "folder": str(one.folder),
        "complete": summary.complete,
        "n": everything.n,
        "failures": everything.failures,
        "unread": everything.unread,
        "metrics": {name: mean.value for name, mean in everything.means.items()},
        "cost": cost_json({"": one.spend})["total"],
    }


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
