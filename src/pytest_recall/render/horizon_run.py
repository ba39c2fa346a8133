"""Text of a long-horizon run: what it will take, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.core.horizon.checkpoint import Checkpoint
from pytest_recall.core.horizon.disclosure import Rate, boundaries
from pytest_recall.core.horizon.evaluation import FAILURES, MOST
from pytest_recall.core.horizon.result import Reached
from pytest_recall.core.horizon.summary import summarize
from pytest_recall.render.grid import grid
from pytest_recall.render.sentences import plural


def lines(name: str, reached: Sequence[Reached], folder: str, *, lexical: bool) -> Iterator[str]:
    """Yield the lines for a terminal: each checkpoint, each category over all of them, and what went wrong."""
    every = [one for _, evaluations in reached for one in evaluations]
    whole = summarize(every, measured=not lexical)
    yield f"{name}: {plural(len(reached), 'checkpoint')}, {plural(len(every), 'question')} asked"
    yield ""
    rows = []
    for checkpoint, evaluations in reached:
        found = summarize(evaluations)
        rows.append(
            (
                checkpoint.range.label,
                f"{checkpoint.days:,}",
                f"{found.scored:,}",
                f"{len(evaluations) - found.scored:,}",
                _points(found.mean),
                "not measured" if lexical else _share(found.hallucination),
                f"{found.appealed:,}",
            )
        )
    yield from grid(("checkpoint", "days", "n", "no points", "points", "made up", "appealed"), rows)
    yield ""
    categories = [(one.category, f"{len(one.scores):,}", _points(one.mean)) for one in whole.categories if one.scores]
    overall = ("all", f"{whole.scored:,}", _points(whole.mean))
    yield from grid(("category", "n", "points"), [*categories, overall])
    yield ""
    if lexical:
        yield f"points are of {MOST}, for the reference's words; what is made up is not measured"
    else:
        yield f"points are of {MOST}; made up is the share of answers with something that is not so"
    if (found_out := boundaries(every)) is not None:
        yield f"boundaries: leaks {_rate(found_out.leaks)}, over-refusals {_rate(found_out.over_refusals)}"
    if lost := [f"{whole.failures[kind]:,} {kind}" for kind in FAILURES if whole.failures[kind]]:
        yield f"no points, and in no mean: {', '.join(lost)}"
    alone = [one for one in every if one.answered_by == "passages"]
    if some := sum(bool(one.answer.strip()) for one in alone):
        yield f"of {plural(some, 'answer')} the memory gave passages alone, which stand as the answer"
    if empty := len(alone) - some:
        yield f"for {plural(empty, 'question')} the memory found nothing, which stands as the answer"
    yield f"written to {folder}"


def unasked(count: int, beside: int, folder: str) -> Iterator[str]:
    """Yield what to say of a run that could not be paid for to its end."""
    if beside:
        yield f"{plural(beside, 'answer')} of the next checkpoint, which is not whole, will count with its others"
    told = f"{plural(count, 'question')} were not asked" if count > 1 else "1 question was not asked"
    yield f"{told}; the same command with --resume {folder} and a new --budget goes on with them"


def preview(name: str, checkpoints: Sequence[Checkpoint], need: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a run will ask, and what its models will take, about."""
    yield f"{name}: {plural(len(checkpoints), 'checkpoint')}, {plural(need['questions'], 'question')}"
    yield ""
    rows = [
        (one.range.label, f"{one.days:,}", f"{len(one.asked):,}", f"{one.fresh:,}", f"{one.sampled:,}")
        for one in checkpoints
    ]
    yield from grid(("checkpoint", "days", "questions", "new", "older"), rows)
    yield ""
    yield f"memory: {plural(need['questions'], 'question')} after {plural(need['days'], 'day')}"
    for one in need["models"]:
        cost = "price unknown" if one["usd"] is None else f"about ${one['usd']:.2f}"
        most = " at most, where answers fall short" if one["role"] == "appellate" else ""
        tokens = f"{one['inputTokens']:,} tokens in and {one['outputTokens']:,} out"
        yield f"{one['role']} {one['model']}: {plural(one['calls'], 'call')}{most}, about {tokens}, {cost}"
    if not need["models"]:
        yield "no model is asked"


def _points(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _rate(rate: Rate) -> str:
    return "of no question" if rate.value is None else f"{rate.value:.0%} ({rate.hits} of {rate.n})"
