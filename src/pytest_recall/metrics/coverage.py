"""Measure how ranked passages cover the units of evidence: turns, sessions or days."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from math import log2
from typing import NamedTuple


class Coverage(NamedTuple):
    """How much of the evidence the first passages cover."""

    any: bool
    """Whether they cover any of the units."""
    all: bool
    """Whether they cover all of the units."""
    fraction: float
    """Of the units, from 0 to 1."""
    reciprocal_rank: float
    """1 / the rank of the first passage that covers a unit, 0.0 where none does; its mean is MRR@k."""
    ndcg: float
    """From 0 to 1."""


def coverage(passages: Sequence[Collection[Hashable]], gold: Iterable[Hashable], k: int) -> Coverage | None:
    """Return how much of the `gold` units the first `k` passages cover, given by the units that each of them covers.

    The passages are in the order of their ranks; one that covers what an earlier one covers holds its rank and gains
    nothing. Without gold units there is nothing to find: None. Raises ValueError for k < 1.

    A unit that is first covered at rank r gains 1 / log2(1 + r). nDCG is the sum as a share of that of one unit at
    each of the first ranks, and 1 at most, since a passage may cover several units. Where each covers one unit at
    most it is that of `retrieval.ndcg_at_k` (Järvelin and Kekäläinen 2002, with the discount of Burges et al. 2005).
    """
    if k < 1:
        raise ValueError(f"k is {k}; it counts ranks, and is 1 or more")
    wanted = frozenset(gold)
    if not wanted:
        return None
    ranks: dict[Hashable, int] = {}
    for rank, units in enumerate(passages[:k], start=1):
        for unit in wanted.intersection(units):
            ranks.setdefault(unit, rank)
    gained = sum(_gain(rank) for rank in ranks.values())
    ideal = sum(map(_gain, range(1, min(k, len(wanted)) + 1)))
    return Coverage(
        any=bool(ranks),
        all=len(ranks) == len(wanted),
        fraction=len(ranks) / len(wanted),
        reciprocal_rank=1 / min(ranks.values()) if ranks else 0.0,
        ndcg=min(1.0, gained / ideal),
    )


def _gain(rank: int) -> float:
    return 1 / log2(1 + rank)
