"""Passages that cover units: the worked values, and an implementation of another kind beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.coverage import coverage
from pytest_recall.metrics.retrieval import (
    all_at_k,
    hit_at_k,
    ndcg_at_k,
    ndcg_longmemeval,
    recall_at_k,
    reciprocal_rank,
)
from tests.helpers.samples import unhurried

units = st.sampled_from("abcd")
passages = st.lists(st.sets(units | st.just("x")), max_size=7)
golds = st.sets(units, min_size=1)
ranks = st.integers(1, 9)


@pytest.mark.parametrize(
    ("ranked", "gold", "k", "any_all_fraction", "rank", "ndcg", "longmemeval"),
    [
        ("a", "a", 5, (1, 1, 1), 1, 1, 1),
        ("x,a", "a", 5, (1, 1, 1), 0.5, 0.6309, 1),
        ("x,y,a", "a", 5, (1, 1, 1), 0.3333, 0.5, 0.6309),
        ("x,a,y,b", "ab", 5, (1, 1, 1), 0.5, 0.6509, 0.75),
        ("a,x,b", "ab", 2, (1, 0, 0.5), 1, 0.6131, 0.5),
        ("a", "abc", 5, (1, 0, 0.3333), 1, 0.4693, 0.3801),
        ("a,a,b", "ab", 3, (1, 1, 1), 1, 0.9197, None),
        ("ab,x", "ab", 5, (1, 1, 1), 1, 1, None),
        ("x,xab", "ab", 5, (1, 1, 1), 0.5, 0.7737, None),
        ("x,y,z,a", "a", 3, (0, 0, 0), 0, 0, 0),
        ("", "a", 3, (0, 0, 0), 0, 0, 0),
    ],
)
def test_worked_values(
    ranked: str,
    gold: str,
    k: int,
    any_all_fraction: tuple[float, float, float],
    rank: float,
    ndcg: float,
    longmemeval: float | None,
) -> None:
    covered = ranked.split(",") if ranked else []
    found = coverage(covered, gold, k)
    assert found is not None
    assert (*found[:3],) == pytest.approx(any_all_fraction, abs=5e-5)
    assert found[3:] == pytest.approx((rank, ndcg), abs=5e-5)
    if longmemeval is not None:
        assert ndcg_longmemeval(covered, gold, k) == pytest.approx(longmemeval, abs=5e-5)


def otherwise(ranked: Sequence[set[str]], gold: set[str], k: int) -> tuple[bool, bool, float, float, float]:
    """Work the metrics out from the definition, unit by unit, with the logarithm of another base."""
    first = [next((place for place, one in enumerate(ranked[:k], 1) if unit in one), math.inf) for unit in gold]
    met = [rank for rank in first if rank < math.inf]
    best = [math.log(2) / math.log(1 + place) for place in range(1, k + 1)][: len(gold)]
    gained = math.fsum(math.log(2) / math.log(1 + rank) for rank in met)
    mrr = 1 / min(first) if met else 0.0
    return bool(met), len(met) == len(gold), len(met) / len(gold), mrr, min(1.0, gained / math.fsum(best))


@given(passages, golds, ranks)
@unhurried
def test_the_definition_worked_out_another_way(ranked: list[set[str]], gold: set[str], k: int) -> None:
    assert coverage(ranked, gold, k) == pytest.approx(otherwise(ranked, gold, k))


@given(st.lists(units, max_size=8), golds, ranks)
@unhurried
def test_passages_of_one_unit_are_a_ranking_of_ids(ranked: list[str], gold: set[str], k: int) -> None:
    metrics = (hit_at_k, all_at_k, recall_at_k, reciprocal_rank, ndcg_at_k)
    assert coverage(ranked, gold, k) == pytest.approx(tuple(metric(ranked, gold, k) for metric in metrics))


@given(passages, ranks)
def test_nothing_to_find_is_not_measured(ranked: list[set[str]], k: int) -> None:
    assert coverage(ranked, [], k) is None


@pytest.mark.parametrize("k", [0, -1])
def test_no_ranks_are_an_error(k: int) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        coverage(["a"], "a", k)
