"""Summary: what the evaluations of a checkpoint come to, as the published files have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_recall.core.horizon.evaluation import FAILURES, Evaluation
from pytest_recall.core.horizon.question import CATEGORIES, DIFFICULTIES


class CategoryScore(NamedTuple):
    """The answers of one category: `mean` points, None where there is no answer, of `scores`."""

    category: str
    mean: float | None
    scores: tuple[int, ...]
    eligible: int | None = None


class CheckpointSummary(NamedTuple):
    """What a checkpoint came to. Only scored answers are in the means; `failures` counts the others by kind.

    `mean` is of points, 0 to 6; `hallucination` the share of answers with something made up, 0 to 1; both are
    None where nothing was scored. `difficulties` maps each to its mean and count. What is made up is not `measured`
    by a judge that sees words alone; then `hallucination` is None as well.
    """

    scored: int
    mean: float | None
    hallucination: float | None
    categories: tuple[CategoryScore, ...]
    difficulties: Mapping[str, tuple[float | None, int]]
    failures: Mapping[str, int]
    appealed: int
    measured: bool = True


def summarize(
    evaluations: Iterable[Evaluation], eligible: Mapping[str, int] | None = None, *, measured: bool = True
) -> CheckpointSummary:
    """Return what evaluations come to; `eligible` counts the questions that were possible, by category."""
    every = list(evaluations)
    scored = [(one.question, one.points) for one in every if one.points is not None]

    def composites(kind: str, name: str) -> tuple[int, ...]:
        return tuple(points.composite for question, points in scored if getattr(question, kind) == name)

    by_category = {name: composites("category", name) for name in CATEGORIES}
    by_difficulty = {name: composites("difficulty", name) for name in DIFFICULTIES}
    return CheckpointSummary(
        scored=len(scored),
        mean=_mean([points.composite for _, points in scored]),
        hallucination=_mean([1 - points.hallucination for _, points in scored]) if measured else None,
        categories=tuple(
            CategoryScore(name, _mean(scores), scores, None if eligible is None else eligible.get(name, 0))
            for name, scores in by_category.items()
        ),
        difficulties={name: (_mean(scores), len(scores)) for name, scores in by_difficulty.items()},
        failures=Counter({name: sum(one.failure == name for one in every) for name in FAILURES}),
        appealed=sum(one.appealed for one in every),
        measured=measured,
    )


class Quartiles(NamedTuple):
    """How it began and ended: the mean of the first quarter of the checkpoints, and of the last."""

    first: float
    last: float


def quartiles(values: Sequence[float]) -> Quartiles | None:
    """Return the unweighted means of the first and the last quarter; None for fewer than four.

    The first ends at a quarter of the count, rounded down, and the last begins at three quarters, rounded
    down, as in the published reports.
    """
    if len(values) < 4:
        return None
    first, last = values[: len(values) // 4], values[3 * len(values) // 4 :]
    return Quartiles(sum(first) / len(first), sum(last) / len(last))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
