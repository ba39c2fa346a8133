"""What others report on a dataset, beside what was measured, and marked as theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_recall.core.membench import Summary
from pytest_recall.core.reported import Reported
from pytest_recall.metrics.mean import Mean
from pytest_recall.render.grid import grid

HEAD = ("reported by others", "model", "category", "of theirs", "theirs", "ours")


def lines(reported: Sequence[Reported], summary: Summary, *, same_file: bool) -> Iterator[str]:
    """Yield the lines for a terminal; `same_file` says that ours was asked of the published file, and all of it."""
    yield "NOT MEASURED HERE: figures from papers, by other models, prompts and judges than ours"
    rows = [
        (
            f"{one.system} [{_number(one, reported)}]",
            one.model,
            one.category or "all",
            one.about,
            f"{one.value:g}",
            _ours(one, summary),
        )
        for one in reported
    ]
    yield from grid(HEAD, rows)
    if not same_file:
        yield "ours are of another file, or of a part of it, so that no two figures are of the same questions"
    for number, source in enumerate(_sources(reported), start=1):
        yield f"[{number}] {source}"


def as_json(reported: Sequence[Reported], summary: Summary, *, same_file: bool) -> dict[str, Any]:
    """Return the same as plain JSON types."""
    figures = [
        {**one._asdict(), "category": one.category or None, "measured_here": False, "ours": _plain(_mean(one, summary))}
        for one in reported
    ]
    return {"same_file": same_file, "figures": figures}


def _mean(one: Reported, summary: Summary) -> Mean | None:
    group = summary.categories.get(one.category) if one.category else summary.everything
    return None if group is None else group.means.get(one.metric)


def _ours(one: Reported, summary: Summary) -> str:
    mean = _mean(one, summary)
    return "–" if mean is None or mean.value is None else f"{mean.value:.3f}"


def _plain(mean: Mean | None) -> dict[str, Any] | None:
    return None if mean is None else {"value": mean.value, "n": mean.n, "low": mean.low, "high": mean.high}


def _sources(reported: Sequence[Reported]) -> list[str]:
    return list(dict.fromkeys(one.source for one in reported))


def _number(one: Reported, reported: Sequence[Reported]) -> int:
    return _sources(reported).index(one.source) + 1
