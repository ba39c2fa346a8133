"""Checkpoint: which questions are asked after which days, and in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pytest_recall.core.horizon.question import GROUP_CATEGORIES, BenchQuestion, eligible
from pytest_recall.core.horizon.ranges import Range
from pytest_recall.core.horizon.sampling import Sampler, plain, shuffled, stratified


class Checkpoint(NamedTuple):
    """A stop in the story. `asked` are its questions in their order; `fresh` of them were never possible before.

    `place` counts from 1; `days` is the last day that is told by then; `available` counts the older
    questions, of which `sampled` are asked; `eligible` counts all that are possible, by category, those too
    that are left out since the memory is not told of sessions.
    """

    place: int
    range: Range
    days: int
    asked: tuple[BenchQuestion, ...]
    fresh: int
    sampled: int
    available: int
    eligible: Mapping[str, int]


def checkpoints(
    questions: Sequence[BenchQuestion],
    ranges: Iterable[Range],
    last_day: int,
    *,
    sample: int | None,
    seed: int,
    groups: bool,
    sampler: Sampler = "stratified",
) -> list[Checkpoint]:
    """Return the checkpoints of a run, from the first to the last.

    New questions are always asked. Of older ones `sample` are, by their category's share, or all without it.
    """
    seen: set[str] = set()
    found = []
    for place, one in enumerate(ranges, start=1):
        days = one.cutoff(last_day)
        possible = eligible(questions, days)
        allowed = [question for question in possible if groups or question.category not in GROUP_CATEGORIES]
        fresh = [question for question in allowed if question.id not in seen]
        older = [question for question in allowed if question.id in seen]
        drawn = older
        if sample is not None and sampler == "stratified":
            drawn = stratified(older, sample, seed, lambda question: question.category)
        elif sample is not None:
            drawn = plain(older, sample, seed)
        seen.update(question.id for question in allowed)
        found.append(
            Checkpoint(
                place=place,
                range=one,
                days=days,
                asked=tuple(shuffled([*fresh, *drawn], seed)),
                fresh=len(fresh),
                sampled=len(drawn),
                available=len(older),
                eligible=Counter(question.category for question in possible),
            )
        )
    return found
