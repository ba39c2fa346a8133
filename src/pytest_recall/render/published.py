"""The published summary as JSON with its published keys, and as a table of fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pytest_recall.metrics.published import Means, Summary

_NAME, _COUNT = 14, 9


def as_json(summary: Summary) -> dict[str, Any]:
    """Return the summary with the published keys in their order; whole numbers have no decimals, as there."""
    means = _keys(summary.means)
    told: dict[str, Any] = {"name": summary.name, **means, "k": summary.k}
    if summary.failures:
        told["recall_failures"] = summary.failures
    told["results"] = None
    if summary.categories is not None:
        told["category_breakdowns"] = {name: _keys(means) for name, means in sorted(summary.categories.items())}
    return told


def table(summaries: Sequence[Summary], k: int) -> str:
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
