"""The published summary: values of a reference implementation."""

from __future__ import annotations

from pytest_recall.metrics.summary import Means, RetrievalResult, Sums, summarize

RESULTS = [
    RetrievalResult(True, 1.0, True, "a"),
    RetrievalResult(False, 0.5, True, ""),
    RetrievalResult(False, 0.0, False, "b"),
    RetrievalResult(True, 0.8, True, "a"),
]


def test_means_over_all_and_by_category() -> None:
    found = summarize("LoCoMo", RESULTS, 5)
    assert found.means == Means(4, 0.5, 0.575, 0.75)
    assert found.categories == {
        "a": Means(2, 1.0, 0.9, 1.0),
        "b": Means(1, 0.0, 0.0, 0.0),
        "uncategorized": Means(1, 0.0, 0.5, 1.0),
    }
    assert (found.name, found.k, found.failures) == ("LoCoMo", 5, 0)


def test_no_category_anywhere_is_no_breakdown() -> None:
    assert summarize("x", [result._replace(category="") for result in RESULTS], 5).categories is None


def test_nothing_to_sum_up() -> None:
    assert summarize("x", [], 5) == ("x", 5, Means(0, 0.0, 0.0, 0.0), 0, None)


def test_a_failure_is_a_zero_and_is_counted() -> None:
    sums = Sums()
    sums.add(RetrievalResult(True, 1.0, True))
    sums.fail()
    assert sums.summary("x", 5) == ("x", 5, Means(2, 0.5, 0.5, 0.5), 1, None)


def test_a_category_of_that_name_takes_those_without_one() -> None:
    found = summarize("x", [RetrievalResult(True, 1.0, True, "uncategorized"), RetrievalResult(False, 0.0, False)], 5)
    assert found.categories == {"uncategorized": Means(2, 0.5, 0.5, 0.5)}
