"""One question asked at one checkpoint, and what all of them come to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from pytest_recall.horizon.question import CATEGORIES, DIFFICULTIES, BenchQuestion

Failure = Literal["memory", "timeout", "answer", "judge"]
"""Why there are no points: the memory broke, it took too long, the model that answers from what it found could not
be asked, or no judge came to a verdict."""
FAILURES: tuple[Failure, ...] = get_args(Failure)
AnsweredBy = Literal["memory", "model", "passages"]
ANSWERED_BY: tuple[AnsweredBy, ...] = get_args(AnsweredBy)
MOST = 6
"""Points that an answer can get."""
RANGES: Mapping[str, int] = {"correctness": 3, "completeness": 2, "hallucination": 1}


class Points(NamedTuple):
    """Points for an answer: correctness 0 to 3, completeness 0 to 2, hallucination 1 if nothing is made up, else 0."""

    correctness: int
    completeness: int
    hallucination: int
    reasoning: str = ""

    @property
    def composite(self) -> int:
        """The sum, 0 to 6."""
        return self.correctness + self.completeness + self.hallucination

    @property
    def fails(self) -> bool:
        """Whether a stronger judge is asked: less than 4 points, wrong, or made up."""
        return self.composite < 4 or self.hallucination == 0 or self.correctness == 0

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types, by the published names."""
        plain = self._asdict()
        return plain if self.reasoning else {name: plain[name] for name in RANGES}

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Points:
        """Return the points in a published line. Raises KeyError, TypeError or ValueError."""
        found = {name: plain[name] for name in RANGES}
        for name, most in RANGES.items():
            if isinstance(found[name], bool) or not isinstance(found[name], int):
                raise TypeError(f"{name}: {found[name]!r} is no whole number")
            if not 0 <= found[name] <= most:
                raise ValueError(f"{name}: {found[name]} is not from 0 to {most}")
        return cls(**found, reasoning=str(plain.get("reasoning") or ""))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What one question came to at one checkpoint.

    `points` are None where `failure` says why there are none, `error` in words. `primary` are those of the
    first judge where another was asked, which `appealed` says. `checkpoint` is the label, `day` the last day
    that was told; None in published lines, which do not say. `seconds` is the memory's own time. `retrieval`
    are what it found, `tool_calls` what it called, as it reported them. `context` says whether the judge saw
    excerpts of the memory; `usd` is what it cost, None if that is not known. `answered_by` says whose words the
    answer is: the memory's own, a model's from what it found, or what it found; empty in published lines.
    """

    timestamp: str
    persona: str
    question: BenchQuestion
    answer: str
    points: Points | None = None
    primary: Points | None = None
    appealed: bool = False
    failure: Failure | None = None
    error: str = ""
    checkpoint: str | None = None
    day: int | None = None
    seconds: float | None = None
    retrieval: tuple[Mapping[str, Any], ...] = ()
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    context: bool = False
    usd: float | None = None
    answered_by: AnsweredBy | Literal[""] = ""


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
