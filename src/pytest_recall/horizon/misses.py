"""Find the answers of a run whose relevant days did not all come back, and show what came instead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import one_line, plural
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


def missed_days_report(found: Sequence[MissedDays], shown: int, measured: int) -> Report:
    """Return what was missed in `measured` answers: how often by category, and the first `shown` in full."""
    told = f"{len(found):,} of {plural(measured, 'answer')} without all of their relevant days"
    counts = sorted(Counter(one.asked.question.category for one in found).items())
    tables = [TextTable("", ("category", "answers"), [(name, f"{n:,}") for name, n in counts])] if counts else []
    more = [f"… and {len(found) - shown:,} more; --limit shows more of them, --json all"] if len(found) > shown else []
    every = [Section("", lines=list(_lines(one))) for one in found[:shown]]
    plain = {"version": 1, "answers": measured, "missed": [_plain(one) for one in found]}
    return Report(told, [Section("", tables, lines=[told]), *every, Section("", lines=more)], plain)


def _lines(one: MissedDays) -> Iterator[str]:
    question = one.asked.question
    yield one_line(f"{one.label}/{question.id} ({question.category}): {question.question}", 300)
    yield f"  reference: {one_line(question.answer, 200)}"
    yield f"  absent: {', '.join(f'day {day}' for day in one.absent)}"
    for rank, passage in enumerate(one.instead, start=1):
        mark = "+" if passage["relevant"] else " "
        score = "" if passage["score"] is None else f"{passage['score']:.3f} "
        told = f"[{passage['id']}] {score}{passage['text']}"
        yield f"  {mark}{rank:>5}  {one_line(told, _PASSAGE)}"


def _plain(one: MissedDays) -> dict[str, Any]:
    return {
        "checkpoint": one.label,
        "id": one.asked.question.id,
        "category": one.asked.question.category,
        "question": one.asked.question.question,
        "reference": one.asked.question.answer,
        "relevantDays": list(one.asked.question.relevant_days),
        "absentDays": list(one.absent),
        "instead": list(one.instead),
    }
