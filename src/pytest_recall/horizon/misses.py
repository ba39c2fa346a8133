"""Find the answers of a run whose relevant days did not all come back, and show what came instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.wording import grid, one_line, plural
from pytest_recall.horizon.evaluation import CheckpointTrial
from pytest_recall.horizon.retrieval import days_of, handed_of

_PASSAGE = 110
"""Characters of a passage that are shown."""


class MissedDays(NamedTuple):
    """A question at a checkpoint, the relevant days that are `absent` from what came back, and that by rank."""

    label: str
    asked: CheckpointTrial
    absent: tuple[int, ...]
    instead: tuple[Mapping[str, Any], ...]


def missed_days(asked: Iterable[tuple[str, CheckpointTrial]]) -> tuple[list[MissedDays], int]:
    """Return what was missed of (label, answer), in their order, and how many answers are measured.

    Those are not of which it is not known what the passages are from, and questions about what must not be told.
    """
    found: list[MissedDays] = []
    measured = 0
    for label, one in asked:
        handed = handed_of(one)
        days = () if handed is None else days_of(handed.ids)
        if handed is None or one.question.forbidden_sessions or None in days:
            continue
        measured += 1
        relevant = set(one.question.relevant_days)
        if absent := tuple(sorted(relevant - set(days))):
            passages = [
                {
                    "id": id,
                    "score": passage.get("score"),
                    "text": passage.get("snippet") or "",
                    "relevant": day in relevant,
                }
                for id, day, passage in zip(handed.ids, days, one.retrieval, strict=False)
            ]
            found.append(MissedDays(label, one, absent, tuple(passages)))
    return found, measured


def missed_days_lines(found: Sequence[MissedDays], shown: int, measured: int) -> Iterator[str]:
    """Yield what was missed in `measured` answers: how often by category, and the first `shown` in full."""
    yield f"{len(found):,} of {plural(measured, 'answer')} without all of their relevant days"
    counts: dict[str, int] = {}
    for one in found:
        counts[one.asked.question.category] = counts.get(one.asked.question.category, 0) + 1
    if counts:
        yield ""
        yield from grid(("category", "answers"), [(name, f"{n:,}") for name, n in sorted(counts.items())])
    for one in found[:shown]:
        question = one.asked.question
        yield ""
        yield one_line(f"{one.label}/{question.id} ({question.category}): {question.question}", 300)
        yield f"  reference: {one_line(question.answer, 200)}"
        yield f"  absent: {', '.join(f'day {day}' for day in one.absent)}"
        for rank, passage in enumerate(one.instead, start=1):
            mark = "+" if passage["relevant"] else " "
            score = "" if passage["score"] is None else f"{passage['score']:.3f} "
            told = f"[{passage['id']}] {score}{passage['text']}"
            yield f"  {mark}{rank:>5}  {one_line(told, _PASSAGE)}"
    if len(found) > shown:
        yield ""
        yield f"… and {len(found) - shown:,} more; --limit shows more of them, --json all"


def missed_days_json(found: Sequence[MissedDays], measured: int) -> dict[str, Any]:
    """Return the same as plain JSON types, all of it."""
    return {
        "version": 1,
        "answers": measured,
        "missed": [
            {
                "checkpoint": one.label,
                "id": one.asked.question.id,
                "category": one.asked.question.category,
                "question": one.asked.question.question,
                "reference": one.asked.question.answer,
                "relevantDays": list(one.asked.question.relevant_days),
                "absentDays": list(one.absent),
                "instead": list(one.instead),
            }
            for one in found
        ],
    }
