"""Render the numbers of a run at several k, and what it has missed, as reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.datasets_text import SHOWN, groups, legend, mean_cell, shown_metrics, unmeasurable_lines
from pytest_recall.datasets.membench import MembenchSummary
from pytest_recall.datasets.rescoring import MissedEvidence
from pytest_recall.files.sections import Report, Section, TextTable
from pytest_recall.files.wording import one_line, plural
from pytest_recall.metrics.retrieval import MAX_K

_PASSAGE = 110
"""Characters of a passage that are shown."""


def rescored_report(by_k: Mapping[int, MembenchSummary], altered: Sequence[str]) -> Report:
    """Return the table of all questions, a line for each k; `altered` came to other values in the journal.

    JSON has all metrics and categories.
    """
    some = next(iter(by_k.values()))
    names = shown_metrics([some])
    rows = [
        ("all" if k == MAX_K else str(k), f"{one.everything.n:,}", *(mean_cell(one.everything, name) for name in names))
        for k, one in by_k.items()
    ]
    table = TextTable("", ("k", "n", *(SHOWN[name] for name in names)), rows)
    facts = {"version": 1, "k": {str(k): groups(one) for k, one in by_k.items()}, "altered": list(altered)}
    notes = [legend(by_k.values()), *unmeasurable_lines(some)]
    return Report("Recall rescore", [Section("", [table], notes)], facts)


def missed_report(found: Sequence[MissedEvidence], shown: int, k: int, measured: int) -> Report:
    """Return what was missed within the first `k` of `measured` questions, of which so many are shown in full."""
    among = "what came back" if k == MAX_K else f"the first {k:,}"
    told = f"{len(found):,} of {plural(measured, 'question')} without all of their evidence among {among}"
    more = [f"… and {len(found) - shown:,} more; --limit shows more of them, --json all"] if len(found) > shown else []
    every = [Section("", lines=list(_missed_lines(one))) for one in found[:shown]]
    facts = {"version": 1, "k": k, "questions": measured, "missed": [_missed(one) for one in found]}
    return Report(told, [Section("", lines=[told]), *every, Section("", lines=more)], facts)


def _missed_lines(one: MissedEvidence) -> Iterator[str]:
    asked = one.asked
    yield one_line(f"{asked.id} ({category_title(asked.category)}): {asked.question}", 300)
    if asked.reference is not None:
        yield f"  reference: {one_line(asked.reference, 200)}"
    for id, text in one.absent.items():
        yield f"  absent  {one_line(f'[{id}] {text}', _PASSAGE)}"
    for rank, (id, passage) in enumerate(one.instead, start=1):
        score = "" if passage.score is None else f"{passage.score:.3f} "
        mark = "+" if id in asked.evidence else " "
        yield f"  {mark}{rank:>5}  {one_line(f'[{passage.source or id}] {score}{passage.text}', _PASSAGE)}"


def _missed(one: MissedEvidence) -> dict[str, Any]:
    return {
        "id": one.asked.id,
        "category": one.asked.category,
        "question": one.asked.question,
        "reference": one.asked.reference,
        "evidence": list(one.asked.evidence),
        "absent": list(one.absent),
        "absent_texts": dict(one.absent),
        "instead": [
            {"id": id, "source": passage.source, "score": passage.score, "text": passage.text}
            for id, passage in one.instead
        ],
    }
