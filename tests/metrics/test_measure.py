"""Measure: which metrics a retrieval allows, what a failure is, and what all of them come to."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.metrics import summary
from pytest_recall.metrics.intervals import Mean
from pytest_recall.metrics.measures import measures_of
from pytest_recall.metrics.retrieval import GROUPS, METRICS, USUAL, Retrieval, measure
from pytest_recall.metrics.summary import Means, RetrievalFold
from tests.helpers.samples import unhurried

TEXTS = ("contains", "token_f1", "contains_at_k")
ANSWERS = tuple(name for group in GROUPS[1:3] for name in group.metrics)
RANKS = tuple(GROUPS[4].metrics)


def one(**given: Any) -> Retrieval:
    """Return a retrieval, as a line would give it."""
    return Retrieval.model_validate({"id": "a", **given})


def values(chosen: tuple[str, ...] = USUAL, **given: Any) -> dict[str, Any]:
    """Return what is measured of such a line, at k = 2."""
    return measure(one(**given), 2, chosen)


def test_numbers_of_a_journal_are_kept_within_their_bounds() -> None:
    known: dict[str, float | None] = {"token_f1": 0.5, "correctness": 3, "locomo_judge": None, "of_a_later_version": 9}
    assert measures_of(known) == known
    for name, value in (("token_f1", 1.5), ("correctness", 4.0), ("locomo_judge", 0.5)):
        with pytest.raises(ValueError, match=f"{value} is not"):
            measures_of({**known, name: value})


def test_names_are_unique() -> None:
    assert sum(len(group.metrics) for group in GROUPS) == len(METRICS)
    assert set(METRICS) - set(USUAL) == {"locomo_f1"}


def test_a_line_that_says_nothing_is_not_measured() -> None:
    assert values() == {}
    assert values(ground_truth="x") == {}
    assert values(evidence=["x"], unanswerable=False) == {}


def test_texts() -> None:
    found = values(TEXTS, retrieved=["in Rome", "Rome it is", "Rome"], ground_truth="Rome")
    assert found == {"contains": True, "token_f1": 1.0, "contains_at_k": True}
    assert values(TEXTS, retrieved=["x", "y", "Rome"], ground_truth="Rome")["contains_at_k"] is False


def test_nothing_that_came_back_is_a_miss_and_no_failure() -> None:
    assert values(TEXTS, retrieved=[], ground_truth="x") == {"contains": False, "token_f1": 0, "contains_at_k": False}


def test_several_truths_the_best_counts() -> None:
    found = values(ground_truth=["Rome", 7], answer="it was 7", retrieved=["it was 7"])
    assert found["contains"] is found["answer_contains"] is True
    assert found["token_f1"] == found["answer_token_f1"] == found["squad_f1"] == found["rouge_l_f"] == 0.5


def test_an_answer_is_measured_where_there_is_one() -> None:
    found = values(answer="The Rome!", ground_truth="Rome")
    assert tuple(found) == ANSWERS
    assert found["squad_exact_match"] is True
    assert found["answer_token_f1"] == 2 / 3


def test_rankings_need_evidence() -> None:
    found = values(retrieved_ids=["a", "b", "c"], evidence=["b", "c"])
    assert tuple(found) == RANKS
    assert (found["evidence_recall_at_k"], found["reciprocal_rank"]) == (0.5, 0.5)
    assert values(retrieved_ids=["a"], evidence=[]) == values(retrieved_ids=["a"]) == {}


@pytest.mark.parametrize(
    ("abstained", "unanswerable", "found"),
    [
        (True, True, {"abstention_precision": True, "abstention_recall": True}),
        (True, False, {"abstention_precision": False}),
        (False, True, {"abstention_recall": False}),
        (False, False, {}),
        (None, True, {"abstention_recall": None}),
    ],
)
def test_abstention(abstained: bool | None, unanswerable: bool, found: dict[str, Any]) -> None:
    assert values(abstained=abstained, unanswerable=unanswerable) == found


@pytest.mark.parametrize(
    ("category", "truth", "answer", "found"),
    [
        (4, {"ground_truth": "dogs"}, "the dog", {"locomo_f1": 1.0}),
        ("adversarial", {}, "Not mentioned.", {"locomo_f1": 1.0}),
        (4, {}, "the dog", {}),
        ("other", {"ground_truth": "dogs"}, "the dog", {}),
        (1, {"ground_truth": "dogs"}, None, {"locomo_f1": None}),
    ],
)
def test_locomo_goes_by_the_category(category: Any, truth: Any, answer: Any, found: Any) -> None:
    pytest.importorskip("nltk")
    assert values(("locomo_f1",), category=category, answer=answer, **truth) == found


def test_an_error_is_a_failure_of_what_was_asked_for_and_no_zero() -> None:
    found = values(ground_truth="x", evidence=["a"], unanswerable=True, seconds=30.0, retrieved=["x"], error="late")
    assert found == dict.fromkeys((*TEXTS, *ANSWERS, *RANKS, "abstention_recall"))
    assert values(error="late") == {}


def test_null_is_a_failure_and_absence_is_not() -> None:
    assert values(TEXTS, ground_truth="x", retrieved=None) == dict.fromkeys(TEXTS)
    assert values(ground_truth="x", answer=None) == dict.fromkeys(ANSWERS)
    assert values(evidence=["x"], retrieved_ids=None) == dict.fromkeys(RANKS)
    assert values(seconds=None, tokens_read=None) == {}


def fold(*lines: dict[str, Any], chosen: tuple[str, ...] | None = None) -> Any:
    """Return what these lines come to."""
    found = RetrievalFold(2, chosen, "x")
    for number, line in enumerate(lines):
        found.add(one(**{"id": str(number), **line}))
    return found.summary()


HIT = {"retrieved": ["Rome"], "ground_truth": "Rome"}
MISS = {"retrieved": ["Bonn"], "ground_truth": "Rome"}
LATE = {"error": "late", "ground_truth": "Rome"}


def test_nothing_comes_to_nothing() -> None:
    found = fold()
    assert (found.n, found.means, found.percentiles, found.categories, found.published) == (0, {}, {}, None, None)
    assert fold(chosen=("contains",)).means == {"contains": Mean(None, 0, None, None, 0)}


def test_means_without_failures_and_the_published_ones_with_them_as_zeros() -> None:
    found = fold(HIT, MISS, LATE)
    assert (found.n, found.failures) == (3, 1)
    assert found.means["contains"][:2] == (0.5, 2)
    assert found.means["contains"].failures == 1
    assert found.published.means == Means(3, 1 / 3, 1 / 3, 1 / 3)
    assert found.published.failures == 1


def test_what_was_never_measured_is_left_out_unless_asked_for() -> None:
    assert set(fold(HIT).means) == {*TEXTS, "tokens_read"}
    assert fold(HIT, chosen=("squad_f1",)).means == {"squad_f1": Mean(None, 0, None, None, 0)}
    assert fold(LATE).means == {}
    assert fold(LATE).published is None


def test_published_needs_its_three_metrics() -> None:
    assert fold(HIT, chosen=TEXTS[:2]).published is None
    assert fold(HIT, chosen=TEXTS).published.means == Means(1, 1.0, 1.0, 1.0)


def test_categories() -> None:
    assert fold(HIT).categories is None
    found = fold({**HIT, "category": "b"}, {**MISS, "category": "a"}, HIT).categories
    assert {name: means["contains"].value for name, means in found.items()} == {"a": 0, "b": 1, "uncategorized": 1}
    assert fold(HIT, {"category": "a", "seconds": 1.0}).categories["a"].keys() == {"seconds"}


def test_too_many_categories_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MAX_CATEGORIES", 2)
    found = RetrievalFold(5)
    for category in "abab":
        found.add(one(category=category))
    with pytest.raises(RecallError, match="category: more than 2 of them; leave out what is not a category"):
        found.add(one(category="c"))
    assert found.summary().n == 4


def test_seconds_and_tokens() -> None:
    found = fold(
        {"seconds": 1.0, "tokens_read": 10},
        {"seconds": 3.0, "retrieved": ["abcd" * 20], "tokens_stored": 5},
        {"seconds": 99.0, "error": "late"},
    )
    assert found.means["seconds"][:2] == (2, 2)
    assert found.percentiles["p50"] == 2
    assert found.means["tokens_read"].value == 15
    assert found.estimated == {"tokens_read": 1, "tokens_stored": 0}


lines = st.fixed_dictionaries(
    {},
    optional={
        "retrieved": st.none() | st.lists(st.text("ab ", max_size=5), max_size=3),
        "ground_truth": st.text("ab ", min_size=1, max_size=5),
        "answer": st.none() | st.text("ab ", max_size=5),
        "retrieved_ids": st.none() | st.lists(st.sampled_from("abc"), max_size=3),
        "evidence": st.lists(st.sampled_from("abc"), max_size=3),
        "category": st.sampled_from(["1", "x"]),
        "abstained": st.none() | st.booleans(),
        "unanswerable": st.booleans(),
        "seconds": st.floats(0, 10),
        "error": st.just("late"),
    },
)


@given(st.lists(lines, max_size=8))
@unhurried
def test_counts_add_up(given_lines: list[dict[str, Any]]) -> None:
    found = fold(*given_lines)
    seen = [values(**line) for line in given_lines]
    for name, mean in found.means.items():
        scores = [one[name] for one in seen if one.get(name) is not None]
        assert mean.n == len(scores)
        assert mean.value == pytest.approx(sum(scores) / len(scores))
        assert mean.failures == sum(name in one and one[name] is None for one in seen)
        if found.categories is not None:
            parts = [means[name] for means in found.categories.values() if name in means]
            assert sum(part.n for part in parts) == mean.n
            assert sum(part.failures for part in parts) == mean.failures
    if found.published is not None:
        assert found.published.means.questions == found.means["contains"].n + found.published.failures
