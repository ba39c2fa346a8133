"""Render a memory's retrieval beside its floors and its ceiling, as sections."""

from __future__ import annotations

from typing import Any

from pytest_recall.datasets.categories import category_title
from pytest_recall.datasets.membench import RECALL, ROWS, CategoryResult, MembenchSummary
from pytest_recall.datasets.own_answer_floors import ROWS as ANSWER_ROWS
from pytest_recall.datasets.ranking_text import interval_cell
from pytest_recall.files.sections import Section, TextTable
from pytest_recall.files.wording import listed
from pytest_recall.metrics.floors import FULL, LAST, ORACLE, RANDOM, UNTELLING

COLUMNS = (RANDOM, LAST, ORACLE)
"""The columns of a table of several memories."""
MEANING = (
    f"{', '.join(COLUMNS)}: in as many tokens as the memory returned, of texts drawn at random, of the last ones, and"
    " of the evidence itself"
)


ANSWERS = {
    "locomo_f1": "answers by LoCoMo F1",
    "answer_contains": "answers that contain it",
    "answer_token_f1": "answers by F1",
}
"""The metrics of words by which answers are compared with floors, as the table calls them."""
ANSWERS_MEANING = f"{', '.join(ANSWER_ROWS)}: every question is answered with the same refusal, and with itself"
UNTELLING_ANSWERS = f"{UNTELLING}, as answers that are all alike are about as good"


def floors_section(summary: MembenchSummary) -> Section:
    """Return a table by category, and what does not discriminate; nothing where no floors were measured."""
    if not summary.everything.floors:
        return Section("")
    groups = {**summary.categories, "all": summary.everything}
    groups = {name: group for name, group in groups.items() if RECALL in group.means}
    columns = (f"{category_title(name)} ({group.means[RECALL].n:,})" for name, group in groups.items())
    head = ("evidence", *columns, "tokens")
    mean = summary.everything.means.get("tokens_read")
    own = ("memory", *(interval_cell(group.means[RECALL]) for group in groups.values()), _tokens(mean and mean.value))
    rows = [
        (
            name,
            *(floor_cell(group, name) for group in groups.values()),
            _tokens(summary.everything.floors[name]["tokens_read"]),
        )
        for name in ROWS
        if name in summary.everything.floors
    ]
    notes = [MEANING]
    if FULL in summary.everything.floors:
        notes.append(f"{FULL}: all that the memory was told, which is no more than it returned for a question")
    if untelling := summary.untelling:
        notes.append(f"{UNTELLING}, as a floor finds about as much: {listed(untelling)}")
    return Section("", [TextTable("", head, [own, *rows])], notes)


def answer_floors_section(summary: MembenchSummary) -> Section:
    """Return the same of answers that the memory gave by itself, where there are such."""
    metric = summary.everything.answer_metric
    if metric is None:
        return Section("")
    groups = {**summary.categories, "all": summary.everything}
    groups = {name: group for name, group in groups.items() if metric in group.means}
    columns = (f"{category_title(name)} ({group.means[metric].n:,})" for name, group in groups.items())
    rows = [("memory", *(interval_cell(group.means[metric]) for group in groups.values()))]
    for name in ANSWER_ROWS:
        cells = (group.answer_floors.get(name, {}).get(metric) for group in groups.values())
        rows.append((name, *("–" if value is None else f"{value:.2f}" for value in cells)))
    untelling = summary.untelling_answers
    notes = [ANSWERS_MEANING, *([f"{UNTELLING_ANSWERS}: {listed(untelling)}"] if untelling else ())]
    return Section("", [TextTable("", (ANSWERS[metric], *columns), rows)], notes)


def floor_cell(group: CategoryResult, name: str) -> str:
    """Return the evidence that a floor or the ceiling finds."""
    return f"{group.floors[name][RECALL]:.2f}" if name in group.floors else "–"


def floors_json(group: CategoryResult) -> dict[str, Any]:
    """Return the same of a group as plain JSON types; nothing where it was not measured."""
    plain: dict[str, Any] = {}
    if group.floors:
        plain |= {"floors": {name: dict(found) for name, found in group.floors.items()}}
        plain |= {"discriminates": group.discriminates}
    if group.answer_floors:
        plain |= {"answer_floors": {name: dict(found) for name, found in group.answer_floors.items()}}
        plain |= {"answers_discriminate": group.answers_discriminate}
    return plain


def _tokens(count: float | None) -> str:
    return "–" if count is None else f"{count:,.0f}"
