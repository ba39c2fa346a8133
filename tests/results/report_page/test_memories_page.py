"""The page of several memories: which stand together, what they are called, and what is known of their money."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.datasets.comparison import JournalContents
from pytest_recall.datasets.several import groups_of_runs
from pytest_recall.results.report_page.memories_page import page, tables
from pytest_recall.trials.cost import Bill, Spend
from tests.datasets.test_bench_compare import line
from tests.horizon.test_horizon_page import chart, data_of

pytest.importorskip("jinja2")


NOTHING = Spend()


def journal(name: str, memory: str, spend: Spend = NOTHING, judged: float = 1.0, **asked: Any) -> JournalContents:
    """Return the journal of a memory that was asked three questions."""
    trials = [line(n, evidence_recall_at_k=n / 2, locomo_judge=judged) for n in range(3)]
    arguments = {"dataset": "locomo", "file": "f.json", "sha256": "00", "memory": memory, "k": 10, "unit": "turn"}
    arguments |= {"sample": None, "seed": "", "categories": [], "whole": False, **asked}
    return JournalContents(name, arguments, {one.case_id: one for one in trials}, spend=spend)


def test_what_was_asked_otherwise_stands_apart_and_one_memory_twice_is_told_apart() -> None:
    found = groups_of_runs(
        [
            journal("a", "mem0", k=5, memory_title="mem0 (no model)"),
            journal("b", "null"),
            journal("c", "hybrid", whole=True),
            journal("d", "null", code="1"),
            journal("e", "hybrid", reader="openai:m", prompt="p"),
        ]
    )
    assert [[one.contents.name for one in runs] for runs in found] == [
        ["null (b)", "hybrid", "null (d)"],
        ["mem0 (no model)"],
        ["hybrid"],
    ]


def test_money_is_known_at_least_known_unknown_or_of_no_call() -> None:
    spends = (
        Spend(calls=2, spent=Bill(1, 0.5), saved=Bill(1, 0.25)),
        Spend(calls=2, spent=Bill(2, 0.5, unpriced=1)),
        Spend(calls=1, spent=Bill(1, 0.0, unpriced=1)),
        NOTHING,
    )
    found = tables([journal(f"{n}", f"last-{n}", spend) for n, spend in enumerate(spends)])
    assert [row[-1] for row in found[0].tables[0].rows] == ["$0.75", "at least $0.50", "unknown", "–"]


def test_what_memories_are_compared_by_is_drawn() -> None:
    text = page([journal("a", "null"), journal("b", "hybrid", judged=0.0)])
    assert [one["title"] for one in data_of(text)["charts"]] == ["Evidence, locomo", "LoCoMo judge, locomo"]
    assert [(one["name"], one["value"]) for one in chart(text, "LoCoMo judge, locomo")] == [("null", 1), ("hybrid", 0)]
    alone = page([journal("a", "null")])
    assert data_of(alone)["charts"] == []
    assert "<h1>1 memory system</h1>" in alone
