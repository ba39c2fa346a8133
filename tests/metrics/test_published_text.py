"""The published summary as JSON and as a table: text that a reference implementation printed."""

from __future__ import annotations

import json

import pytest

from pytest_recall.metrics.commands import published_json, table
from pytest_recall.metrics.summary import Means, RetrievalResult, RetrievalSummary, summarize

HEAD = """\
| Benchmark      | Questions | Exact Match | Avg F1  | Recall@5 |
|----------------|-----------|-------------|---------|----------|
"""


def test_the_table_as_it_is_published() -> None:
    assert table([RetrievalSummary("LoCoMo", 5, Means(10, 0.6, 0.623, 0.8))], 5) == (
        HEAD + "| LoCoMo         | 10        |       60.0% | 0.6230  |    80.0% |\n"
    )


def test_the_last_column_is_as_wide_as_its_head() -> None:
    assert table([RetrievalSummary("LoCoMo", 10, Means(10, 1.0, 1.0, 1.0))], 10) == (
        "| Benchmark      | Questions | Exact Match | Avg F1  | Recall@10 |\n"
        "|----------------|-----------|-------------|---------|-----------|\n"
        "| LoCoMo         | 10        |      100.0% | 1.0000  |    100.0% |\n"
    )


def test_a_table_of_nothing_is_its_head() -> None:
    assert table([], 5) == HEAD


def test_wide_values_are_not_cut_and_a_bar_does_not_end_a_cell() -> None:
    row = table([RetrievalSummary("a name | of more than 14", 5, Means(1234567890, 0.0, 0.0, 0.0))], 5).splitlines()[2]
    assert row == "| a name \\| of more than 14 | 1234567890 |        0.0% | 0.0000  |     0.0% |"


@pytest.mark.parametrize(("share", "shown"), [(0.0015, "0.1%"), (0.0025, "0.2%"), (0.6665, "66.6%")])
def test_rounding_is_that_of_the_binary_number(share: float, shown: str) -> None:
    assert f" {shown} |" in table([RetrievalSummary("x", 5, Means(1, share, 0.0, 0.0))], 5)


def test_keys_and_their_order() -> None:
    results = [RetrievalResult(True, 1.0, True, "b"), RetrievalResult(False, 0.5, True, "a")]
    told = published_json(summarize("LoCoMo", results, 5, failures=1))
    assert json.dumps(told) == (
        '{"name": "LoCoMo", "total_questions": 2, "exact_match_accuracy": 0.5, "avg_f1": 0.75, "recall_at_k": 1,'
        ' "k": 5, "recall_failures": 1, "results": null, "category_breakdowns": {'
        '"a": {"total_questions": 1, "exact_match_accuracy": 0, "avg_f1": 0.5, "recall_at_k": 1},'
        ' "b": {"total_questions": 1, "exact_match_accuracy": 1, "avg_f1": 1, "recall_at_k": 1}}}'
    )


def test_keys_of_what_is_not_there_are_left_out() -> None:
    assert list(published_json(summarize("x", [], 5))) == [
        "name", "total_questions", "exact_match_accuracy", "avg_f1", "recall_at_k", "k", "results",
    ]  # fmt: skip
