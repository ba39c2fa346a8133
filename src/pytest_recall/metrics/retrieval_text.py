"""The summary of retrievals as JSON and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recall.metrics.intervals import METHOD, Mean
from pytest_recall.metrics.retrieval import Retrieval, Value
from pytest_recall.metrics.summary import Means, RetrievalSummary, Summarized

_NAME, _COUNT = 14, 9


def published_json(summary: RetrievalSummary) -> dict[str, Any]:
    """Return the summary with the published keys in their order; whole numbers have no decimals, as there."""
    means = _keys(summary.means)
    told: dict[str, Any] = {"name": summary.name, **means, "k": summary.k}
    if summary.failures:
        told["recall_failures"] = summary.failures
    told["results"] = None
    if summary.categories is not None:
        told["category_breakdowns"] = {name: _keys(means) for name, means in sorted(summary.categories.items())}
    return told


def table(summaries: Sequence[RetrievalSummary], k: int) -> str:
    """Return a Markdown table of the summaries, `k` at its head; it has a line for each, and ends with a line end.

    Its columns are as wide as in published ones, so that rows of both stand below each other. Wider
    values push the rest of their line aside, and nothing is cut; a `|` in a name is written as `\\|`.
    """
    last = f"Recall@{k}"
    lines = [
        f"| {'Benchmark':<{_NAME}} | {'Questions':<{_COUNT}} | Exact Match | Avg F1  | {last} |",
        f"|{'-' * 16}|{'-' * 11}|{'-' * 13}|{'-' * 9}|{'-' * (len(last) + 2)}|",
    ]
    for name, _, means, *_ in summaries:
        cells = (
            f"{name.replace('|', chr(92) + '|'):<{_NAME}}",
            f"{means.questions:<{_COUNT}}",
            f"{100 * means.exact_match:>10.1f}%",
            f"{means.token_f1:.4f} ",
            f"{100 * means.recall_at_k:>{len(last) - 1}.1f}%",
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "".join(f"{line}\n" for line in lines)


def _keys(means: Means) -> dict[str, Any]:
    return {
        "total_questions": means.questions,
        "exact_match_accuracy": _plain(means.exact_match),
        "avg_f1": _plain(means.token_f1),
        "recall_at_k": _plain(means.recall_at_k),
    }


def _plain(value: float) -> float:
    return int(value) if value.is_integer() else value


def line(one: Retrieval, values: Mapping[str, Value]) -> dict[str, Any]:
    """Return what is printed of a retrieval."""
    told: dict[str, Any] = {"id": one.id}
    if one.category is not None:
        told["category"] = one.category
    if one.error is not None:
        told["error"] = one.error
    return {**told, "metrics": dict(values)}


def retrieval_json(found: Summarized, refused: int) -> dict[str, Any]:
    """Return the summary; `refused` lines are not in it."""
    told: dict[str, Any] = {
        "n": found.n,
        "failures": found.failures,
        "refused": refused,
        "k": found.k,
        "confidence": 0.95,
        "metrics": _means(found.means),
    }
    if found.percentiles:
        told["percentiles"] = {"seconds": {**found.percentiles, "method": METHOD}}
    if found.estimated:
        told["estimated"] = dict(found.estimated)
    if found.categories is not None:
        told["categories"] = {name: _means(means) for name, means in found.categories.items()}
    if found.published is not None:
        told["published"] = published_json(found.published)
    return told


def _means(means: Mapping[str, Mean]) -> dict[str, Any]:
    return {name: mean._asdict() for name, mean in means.items()}
