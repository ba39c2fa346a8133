"""Text of a membench: a table with each category, and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.membench import Arguments, Group, Judged, Line, Summary, plain
from pytest_recall.core.spend import Spend
from pytest_recall.metrics.mean import Mean
from pytest_recall.metrics.percentiles import METHOD
from pytest_recall.render import cost
from pytest_recall.render.grid import grid, markdown_grid
from pytest_recall.render.markdown import code
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
    "longmemeval_judge": "LongMemEval judge",
    "locomo_judge": "LoCoMo judge",
    "dmr_judge": "DMR judge",
}
"""The metrics of the table, and its headings. JSON has all."""
SHOWN_LOST = 5
"""Answers without a verdict that are told one by one."""


def lines(arguments: Arguments, summary: Summary, problems: Sequence[Line] = ()) -> Iterator[str]:
    """Yield the lines for a terminal; `problems` are some of the questions that failed."""
    asked = "all that it holds" if arguments.whole else f"{arguments.k} passages"
    left = "" if summary.complete else f" of {summary.total:,}"
    on = f"{arguments.memory} on {arguments.dataset} ({arguments.file})"
    yield (f"{on}: {summary.everything.n:,}{left} questions, {asked} each, stored by the {arguments.unit}")
    yield ""
    yield from table(summary)
    yield ""
    yield _legend([summary])
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


def verdicts(judges: str, judged: Sequence[Judged], spend: Spend) -> Iterator[str]:
    """Yield the lines on what `judges` said of the answers, and what that took."""
    yield f"judged by {judges}: {plural(len(judged), 'answer')}"
    lost = [one for one in judged if one.passed is None]
    if lost:
        yield f"no verdict, and in no mean of the judge: {plural(len(lost), 'answer')}"
        yield from (f"  {one.id}: {one.error}" for one in lost[:SHOWN_LOST])
    yield from cost.lines({"": spend})


def verdicts_json(judges: str, judged: Sequence[Judged], spend: Spend) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    undecided = [{"id": one.id, "error": one.error} for one in judged if one.passed is None]
    told = cost.as_json({"": spend})["total"]
    return {"models": judges, "answers": len(judged), "undecided": undecided, "cost": told}


def table(summary: Summary, *, markdown: bool = False, failed: str = "failed") -> list[str]:
    """Return the lines of the table; `failed` is what questions that broke are called at its head."""
    groups = {**summary.categories, "all": summary.everything}
    names = [name for name in SHOWN if name in summary.everything.means]
    head = ("category", "n", failed, "not judged", *(SHOWN[name] for name in names))
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


def sections(datasets: Mapping[str, Summary]) -> Iterator[str]:
    """Yield the lines of a run of pytest over the questions of datasets: for each file a table."""
    for name, summary in datasets.items():
        yield f"{name}: {plural(summary.everything.n, 'question')}"
        yield from table(summary, failed="error")  # A question that failed is another thing in a run.
    if datasets:
        yield _legend(datasets.values())


def markdown(datasets: Mapping[str, Summary]) -> list[str]:
    """Return the same in Markdown."""
    lines: list[str] = []
    for name, summary in datasets.items():
        lines += [
            f"{code(name)}: {plural(summary.everything.n, 'question')}",
            "",
            *table(summary, markdown=True, failed="error"),
            "",
        ]
    return [*lines, f"{_legend(datasets.values())}."]


def groups(summary: Summary) -> dict[str, Any]:
    """Return what a summary has of all questions and of each category, with all metrics, as plain JSON types."""
    return {
        "all": _group(summary.everything),
        "categories": {name: _group(group) for name, group in summary.categories.items()},
    }


def _legend(summaries: Iterable[Summary]) -> str:
    return "mean (95 % interval)" + (", n where it is of fewer" if any(map(_partial, summaries)) else "")


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
        **groups(summary),
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
