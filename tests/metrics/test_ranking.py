"""Rankings: by hand, by vectors of LongMemEval's own code, and what holds for all."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.retrieval import (
    all_at_k,
    hit_at_k,
    ndcg_at_k,
    ndcg_longmemeval,
    precision_at_k,
    recall_at_k,
    reciprocal_rank,
)
from tests.helpers.samples import costly, unhurried

ALL: list[Callable[..., Any]] = [
    recall_at_k,
    precision_at_k,
    hit_at_k,
    all_at_k,
    reciprocal_rank,
    ndcg_at_k,
    ndcg_longmemeval,
]
ids = st.lists(st.sampled_from("abcdef"), max_size=8)
golds = st.sets(st.sampled_from("abcdef"), min_size=1)
ranks = st.integers(1, 10)


@pytest.mark.parametrize(
    ("k", "values"),
    [
        (1, (0, 0, False, False, 0, 0)),
        (2, (0.5, 0.5, True, False, 0.5, (1 / log2(3)) / (1 + 1 / log2(3)))),
        (3, (0.5, 1 / 3, True, False, 0.5, (1 / log2(3)) / (1 + 1 / log2(3)))),
        (4, (1, 0.5, True, True, 0.5, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))),
        (10, (1, 0.2, True, True, 0.5, (1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)))),
    ],
)
def test_two_gold_ids_at_ranks_2_and_4(k: int, values: tuple[float, ...]) -> None:
    found = [metric(["x", "a", "y", "b"], ["a", "b"], k) for metric in ALL[:-1]]
    assert found == pytest.approx(list(values))


@pytest.mark.parametrize(("rank", "value"), [(1, 1), (2, 1), (3, 0.6309297535714575), (4, 0.5)])
def test_a_single_gold_id_by_longmemeval(rank: int, value: float) -> None:
    retrieved = ["w", "x", "y", "z"]
    retrieved[rank - 1] = "a"
    assert ndcg_longmemeval(retrieved, ["a"], 10) == value


def test_several_gold_ids_by_longmemeval() -> None:
    assert ndcg_longmemeval(["d", "a", "b"], ["a", "b"], 3) == pytest.approx(0.8154648767857288, abs=1e-15)
    assert (hit_at_k(["d", "a", "b"], ["a", "b"], 3), all_at_k(["d", "a", "b"], ["a", "b"], 3)) == (True, True)
    assert ndcg_longmemeval(["a", "d", "b"], ["a", "b"], 1) == 1
    assert (hit_at_k(["a", "d"], ["a", "b"], 1), all_at_k(["a", "d"], ["a", "b"], 1)) == (True, False)


@pytest.mark.parametrize("metric", ALL)
def test_without_gold_there_is_nothing_to_measure(metric: Callable[..., Any]) -> None:
    assert metric(["a"], [], 5) is None


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize("k", [0, -1])
def test_k_counts_ranks(metric: Callable[..., Any], k: int) -> None:
    with pytest.raises(ValueError, match=f"k is {k}; it counts ranks, and is 1 or more"):
        metric(["a"], ["a"], k)


def test_an_id_that_comes_back_twice_counts_once() -> None:
    assert recall_at_k(["a", "a"], ["a", "b"], 2) == 0.5
    assert precision_at_k(["a", "a"], ["a", "b"], 2) == 0.5
    assert ndcg_at_k(["a", "a"], ["a"], 2) == 1


@pytest.mark.parametrize("metric", ALL)
@given(ids, golds, ranks)
@costly
def test_values_lie_between_0_and_1(metric: Callable[..., Any], retrieved: list[str], gold: set[str], k: int) -> None:
    assert 0 <= metric(retrieved, gold, k) <= 1 + 1e-12
    assert metric(retrieved, sorted(gold) * 2, k) == metric(retrieved, gold, k)


@pytest.mark.parametrize("metric", [recall_at_k, hit_at_k, all_at_k, reciprocal_rank])
@given(ids, golds)
@unhurried
def test_more_ranks_find_no_less(metric: Callable[..., Any], retrieved: list[str], gold: set[str]) -> None:
    values = [metric(retrieved, gold, k) for k in range(1, 10)]
    assert values == sorted(values)


@given(ids, golds, ranks)
@unhurried
def test_how_they_hang_together(retrieved: list[str], gold: set[str], k: int) -> None:
    recall, precision = recall_at_k(retrieved, gold, k), precision_at_k(retrieved, gold, k)
    assert recall is not None
    assert precision is not None
    assert precision * k == pytest.approx(recall * len(gold))
    assert hit_at_k(retrieved, gold, k) == (recall > 0)
    assert all_at_k(retrieved, gold, k) == (recall == 1)
    assert all(bool(metric(retrieved, gold, k)) == (recall > 0) for metric in (reciprocal_rank, ndcg_at_k))


@given(golds, ranks)
@unhurried
def test_the_ideal_ranking_has_the_full_gain(gold: set[str], k: int) -> None:
    assert ndcg_at_k(sorted(gold), gold, k) == ndcg_longmemeval(sorted(gold), gold, k) == 1
