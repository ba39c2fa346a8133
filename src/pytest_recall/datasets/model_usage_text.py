"""Render tokens and cost of a memory's own models, by ingest and question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_recall.datasets.membench import MembenchSummary
from pytest_recall.datasets.model_usage import ModelUsage
from pytest_recall.files.wording import dollars, listed, plural
from pytest_recall.memory.client import ModelPlace
from pytest_recall.trials.cost_text import ABSENT, UNKNOWN

HEAD = ("memory read", "memory written", "memory cost")
"""The columns of a table about what the models of a memory took for a question."""
INGEST_HEAD = ("ingest read", "ingest written", "ingest cost")
"""The same of a conversation that it was told."""
COLUMNS = (*HEAD, *INGEST_HEAD)
MEANING = (
    "memory read, written, cost: tokens and list price of the models of the memory itself, for a question on average"
)
INGEST_MEANING = "ingest read, written, cost: the same for a conversation stored"


def is_heard(summary: MembenchSummary) -> bool:
    """Whether any call of a model of the memory was heard."""
    return bool(summary.models.calls or summary.everything.models.calls)


def usage_cells(one: ModelUsage, called: ModelPlace | None = None) -> tuple[str, str, str]:
    """Return the cells of the columns; a memory that calls no model has none."""
    if called == "none":
        return (ABSENT, ABSENT, ABSENT)
    read, written = (UNKNOWN if count is None else f"{count:,.0f}" for count in (one.read, one.written))
    return read, written, UNKNOWN if one.usd is None else dollars(one.usd)


def known_usage(one: ModelUsage, summary: MembenchSummary) -> ModelUsage:
    """Return a usage of the summary's; where calls were heard at all, work without one has taken nothing."""
    return ModelUsage(0.0, 0.0, 0.0, 0.0) if one.calls == 0 and is_heard(summary) else one


def columns(summary: MembenchSummary, called: ModelPlace) -> tuple[str, ...]:
    """Return the cells of all columns in the row of a memory, by where it calls models."""
    told, asked = _told_and_asked(summary)
    return (*usage_cells(asked, called), *usage_cells(told.per(summary.ingests), called))


def _told_and_asked(summary: MembenchSummary) -> tuple[ModelUsage, ModelUsage]:
    """Return what all conversations took that were told, and a question on average."""
    return known_usage(summary.models, summary), known_usage(summary.everything.models, summary)


def usage_lines(called: ModelPlace, summary: MembenchSummary) -> Iterator[str]:
    """Yield the lines on the models of one memory, none where it calls no model."""
    if called == "none" or not summary.everything.n:
        return
    yield from lines_of(called, *_told_and_asked(summary), summary.ingests)


def lines_of(called: ModelPlace, told: ModelUsage, asked: ModelUsage, conversations: int = 1) -> Iterator[str]:
    """Yield what the memory took as it was `told` so many conversations, and for a question that it was `asked`."""
    if not told.calls and not asked.calls:
        yield f"models of the memory: cost {UNKNOWN}, since {_why(called)}"
        return
    each = f"; for a conversation on average {_told(told.per(conversations))}" if conversations > 1 else ""
    yield f"models of the memory, ingest: {_told(told)}{each}"
    yield f"models of the memory, a question on average: {_told(asked)}"


def unheard_lines(named: Sequence[tuple[str, ModelPlace, MembenchSummary]]) -> Iterator[str]:
    """Yield of which memories, each with where it calls models, it is not known what these cost, and why."""
    why: dict[str, list[str]] = {}
    for name, called, summary in named:
        if called != "none" and summary.everything.n and not is_heard(summary):
            why.setdefault(_why(called), []).append(name)
    for reason, names in why.items():
        yield f"what the models of a memory itself cost is {UNKNOWN} of {listed(names)}, since {reason}"


def usage_json(one: ModelUsage, called: ModelPlace) -> dict[str, Any] | None:
    """Return the same as plain JSON types: null where calls were not heard, 0 where the memory calls no model."""
    if called == "none":
        return {"calls": 0, "input_tokens": 0, "output_tokens": 0, "usd": 0}
    if one.usd is None and not one.calls:
        return None
    return {
        "calls": _number(one.calls),
        "input_tokens": _number(one.read),
        "output_tokens": _number(one.written),
        "usd": one.usd,
    }


def _number(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value


def models_json(called: ModelPlace, summary: MembenchSummary) -> dict[str, Any]:
    """Return what is said of the models of a memory: of all that it was told, of a conversation and of a question."""
    told, asked = _told_and_asked(summary)
    return {
        "called": called,
        "ingest": usage_json(told, called),
        "conversation": usage_json(told.per(summary.ingests), called),
        "question": usage_json(asked, called),
    }


def _why(called: ModelPlace) -> str:
    if called == "elsewhere":
        return "it calls them where it runs, in another process"
    return "no call was seen in this process"


def _told(one: ModelUsage) -> str:
    count = one.calls or 0
    calls = plural(int(count), "call") if count == int(count) else f"{count:,.1f} calls"
    read, written = (UNKNOWN if tokens is None else f"{tokens:,.0f}" for tokens in (one.read, one.written))
    cost = f"price {UNKNOWN}" if one.usd is None else dollars(one.usd)
    return f"{calls}, {read} tokens read, {written} written, {cost}"
