"""Render what a memory came to after each of several ingests, as a section."""

from __future__ import annotations

from typing import Any

from pytest_recall.datasets.datasets_text import SHOWN
from pytest_recall.datasets.membench import MembenchSummary
from pytest_recall.datasets.repeats import Ingest, RepeatedResult
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.trials.cost_text import cost_json


def ingests_section(result: RepeatedResult, summary: MembenchSummary) -> Section:
    """Return the table of the ingests, a row for each, with the standard deviation of their means.

    In JSON they have what the calls about each ingest came to.
    """
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
    table = TextTable("", ("ingest", "n", "failed", *(SHOWN[name] for name in spreads)), rows)
    notes: list[str] = []
    if len(rows) < 2:
        notes = ["of a single ingest nothing is known of others, and no interval has it in"]
    elif not result.complete:
        notes = ["SD: over the questions that were asked after each of these ingests"]
    elif all(spread.deviation == 0 for spread in spreads.values()):
        notes = ["all ingests have the same means: this memory stores equal texts in the same way"]
    facts = {"repeat": result.wanted, "complete": result.complete, "repeats": list(map(_ingest, result.ingests))}
    return Section("", [table], notes, facts=facts)


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
