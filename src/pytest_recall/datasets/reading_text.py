"""Render what a reader is asked and what its answers took, as sections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_recall.datasets.membench import CategoryResult, ReadingCost
from pytest_recall.files.sections import Section
from pytest_recall.files.wording import dollars, one_line, plural, some
from pytest_recall.trials import cost_text
from pytest_recall.trials.cost import Spend
from pytest_recall.trials.trial import Trial

HEAD = ("read", "written", "cost")
"""The columns of a table about what answers took."""
MEANING = "read, written: tokens of the reader for an answer on average; cost: of them at list price"


def read_by(reader: str, prompt: str) -> str:
    """Return who answers from passages, as a heading ends; empty without one."""
    return f", read by {reader} (prompt {prompt})" if reader else ""


def reading_cells(one: ReadingCost) -> tuple[str, str, str]:
    """Return the cells of the columns."""
    if not one.answers:
        return ("–", "–", "–")
    read, written = (cost_text.UNKNOWN if count is None else f"{count:,.0f}" for count in (one.read, one.written))
    return read, written, cost_text.UNKNOWN if one.usd is None else dollars(one.usd)


def reading_section(
    reader: str, group: CategoryResult, unread: Sequence[Trial], spends: Mapping[str, Spend]
) -> Section:
    """Return what is known of the answers of a reader, of questions without one, and what its calls came to.

    `spends` are those of each ingest by its name.
    """
    lines = [MEANING, f"answered by {reader}: {plural(group.reading.answers, 'question')}"]
    if unread:
        lines.append(f"no answer of the reader, and in no mean of answers: {plural(len(unread), 'question')}")
        lines += some([one_line(f"{one.case_id}: {one.error}", 300) for one in unread])
    lost = [{"id": one.case_id, "error": one.error} for one in unread]
    facts = {"unread": lost, "cost": cost_text.cost_json(spends)["total"]}
    return Section("", lines=[*lines, *cost_text.cost_lines(spends)], key="reading", facts=facts)


def reading_json(group: CategoryResult) -> dict[str, Any]:
    """Return what a table has of a group as plain JSON types: nothing without a reader, null for what is unknown."""
    one = group.reading
    if not one.answers and not group.unread:
        return {}
    told = {"answers": one.answers, "unread": group.unread}
    return {"reading": {**told, "input_tokens": one.read, "output_tokens": one.written, "usd": one.usd}}


def prompt_section(reader: str, prompt: str, text: str) -> Section:
    """Return what a reader is told before the question."""
    told = f"{reader} answers from what a memory finds, by the prompt {prompt}"
    return Section(told, lines=[f"  {line}".rstrip() for line in text.splitlines()])
