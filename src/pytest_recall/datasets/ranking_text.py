"""Render at which ranks a memory found the evidence, as a table of its own below the one of the other metrics."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.membench import MembenchSummary
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.metrics.intervals import Mean

_NDCG = "ndcg_at_k"
RANKED = {_NDCG: "nDCG", "ndcg_longmemeval": "nDCG (LongMemEval)"}
"""The metrics of the table, and their names; LongMemEval's is for its own questions."""


def ranked_for(dataset: str) -> dict[str, str]:
    """Return the metrics that are shown for a dataset, and their names."""
    return RANKED if dataset == "longmemeval" else {_NDCG: RANKED[_NDCG]}


def ranking_section(summary: MembenchSummary, dataset: str) -> Section:
    """Return the table with a row for each category; nothing where none was measured."""
    groups = {**summary.categories, "all": summary.everything}
    names = ranked_for(dataset)
    rows = [
        (
            category_title(category),
            f"{group.means[_NDCG].n:,}",
            *(interval_cell(group.means.get(name)) for name in names),
        )
        for category, group in groups.items()
        if _NDCG in group.means
    ]
    return Section("", [TextTable("", ("by rank", "n", *names.values()), rows)] if rows else [])


def ranking_table(memories: Sequence[tuple[str, MembenchSummary]], dataset: str) -> TextTable | None:
    """Return the table of several memories over all questions; None where it was measured of none."""
    if not any(_NDCG in summary.everything.means for _, summary in memories):
        return None
    names = ranked_for(dataset)
    rows = [
        (memory, *(interval_cell(summary.everything.means.get(name)) for name in names)) for memory, summary in memories
    ]
    return TextTable("by rank", ("memory", *names.values()), rows)


def interval_cell(mean: Mean | None) -> str:
    """Return a mean with its interval."""
    if mean is None or mean.value is None:
        return "–"
    interval = "" if mean.low is None or mean.high is None else f" ({mean.low:.2f}–{mean.high:.2f})"
    return f"{mean.value:.2f}{interval}"
