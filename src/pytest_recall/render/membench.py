"""Text of a membench: a table with each category, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.membench import Arguments, Group, Line, Summary, plain
from pytest_recall.metrics.mean import Mean
from pytest_recall.metrics.percentiles import METHOD
from pytest_recall.render.grid import grid, markdown_grid
from pytest_recall.render.sentences import plural

SHOWN = {
    "evidence_recall_at_k": "evidence",
    "evidence_all_at_k": "all of it",
    "reciprocal_rank": "1 / rank",
    "contains_at_k": "contains",
    "locomo_f1": "LoCoMo F1",
    "answer_contains": "answer contains",
    "answer_token_f1": "answer F1",
    "abstention_recall": "abstained",
}
"""The metrics of the table, and its headings. JSON has all."""


def lines(arguments: Arguments, summary: Summary, problems: Sequence[Line] = ()) -> Iterator[str]:
    """Yield the lines for a terminal; `problems` are some of the questions that failed."""
    asked = "all that it holds" if arguments.whole else f"{arguments.k} passages"
    left = "" if summary.complete else f" of {summary.total:,}"
    on = f"{arguments.memory} on {arguments.dataset} ({arguments.file})"
    yield (f"{on}: {summary.everything.n:,}{left} questions, {asked} each, stored by the {arguments.unit}")
    yield ""
    yield from table(summary)
    yield ""
    yield "mean (95 % interval)" + (", n where it is of fewer" if _partial(summary) else "")
    if unjudged := summary.everything.unjudged:
        yield (
            f"not judged: {plural(unjudged, 'unanswerable question')}, where passages alone do not say whether"
            " it would have abstained"
        )
    if failures := summary.everything.failures:
        yield f"failed, and in no mean: {plural(failures, 'question')}"
        yield from (f"  {one.id}: {one.error}" for one in problems)
    if summary.latency:
        told = ", ".join(
            f"{name} {1000 * value:.1f} ms" for name, value in summary.latency.items() if value is not None
        )
        yield f"recall: {told}"
    if summary.ingests:
        yield (
            f"ingest: {plural(summary.units, 'unit')} in {plural(summary.ingests, 'conversation')},"
            f" in {summary.ingest_seconds:.2f}s"
        )


def table(summary: Summary, *, markdown: bool = False) -> list[str]:
    """Return the lines of the table."""
    groups = {**summary.categories, "all": summary.everything}
    names = [name for name in SHOWN if name in summary.everything.means]
    head = ("category", "n", "failed", "not judged", *(SHOWN[name] for name in names))
    rows = [
        (
            category,
            f"{group.n:,}",
            f"{group.failures:,}",
            f"{group.unjudged:,}",
            *(_cell(group, name) for name in names),
        )
        for category, group in groups.items()
    ]
    return markdown_grid(head, rows) if markdown else list(grid(head, rows))


def _cell(group: Group, name: str) -> str:
    mean = group.means.get(name)
    if mean is None or mean.value is None:
        return "–"
    interval = "" if mean.low is None or mean.high is None else f" ({mean.low:.2f}–{mean.high:.2f})"
    fewer = f", n {mean.n:,}" if mean.n != _judged(group) else ""
    return f"{mean.value:.2f}{interval}{fewer}"


def _judged(group: Group) -> int:
    return group.n - group.failures - group.unjudged


def _partial(summary: Summary) -> bool:
    groups = (*summary.categories.values(), summary.everything)
    return any(mean.n != _judged(group) for group in groups for name, mean in group.means.items() if name in SHOWN)


def as_json(arguments: Arguments, summary: Summary) -> dict[str, Any]:
    """Return the same, with all metrics, as plain JSON types."""
    return {
        "version": 1,
        **plain(arguments),
        "questions": summary.total,
        "complete": summary.complete,
        "confidence": 0.95,
        "all": _group(summary.everything),
        "categories": {name: _group(group) for name, group in summary.categories.items()},
        "recall_seconds": {**summary.latency, "method": METHOD},
        "ingest": {"conversations": summary.ingests, "units": summary.units, "seconds": summary.ingest_seconds},
    }


def _group(group: Group) -> dict[str, Any]:
    means: Mapping[str, Mean] = group.means
    return {
        "n": group.n,
        "failures": group.failures,
        "unjudged": group.unjudged,
        "metrics": {
            name: {"value": mean.value, "n": mean.n, "low": mean.low, "high": mean.high} for name, mean in means.items()
        },
    }
