"""Rankings: how much of the gold evidence a memory system returned, and how early.

`retrieved` are ids in the order of their ranks; an id that is there again counts at its first
place only. `gold` are the ids that hold the evidence, in any order. `k` is how many ranks
are looked at, 1 or more. Without gold ids there is nothing to find: None, where some
programs count 1 and others 0. Every function raises ValueError for k < 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from math import log2


def recall_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the share, 0..1, of the gold ids that are among the first `k`."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found / len(wanted) if wanted else None


def precision_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the share, 0..1, of `k` ranks that hold a gold id; a rank that is left empty holds none."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found / k if wanted else None


def hit_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> bool | None:
    """Whether any gold id is among the first `k`."""
    wanted = frozenset(gold)
    found = any(_hits(retrieved, wanted, k))
    return found if wanted else None


def all_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> bool | None:
    """Whether every gold id is among the first `k`."""
    wanted = frozenset(gold)
    found = sum(_hits(retrieved, wanted, k))
    return found == len(wanted) if wanted else None


def reciprocal_rank(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return 1 / the rank of the first gold id, 0.0 if none is among the first `k`; its mean is MRR@k.

    Voorhees 1999, “The TREC-8 Question Answering Track Report”.
    """
    wanted = frozenset(gold)
    hits = _hits(retrieved, wanted, k)
    first = 1 / (hits.index(True) + 1) if any(hits) else 0.0
    return first if wanted else None


def ndcg_at_k(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return the normalized discounted cumulative gain, 0..1: a gold id at rank r gains 1 / log2(r + 1).

    Järvelin and Kekäläinen 2002, ACM Transactions on Information Systems 20:422, with the
    discount of Burges et al. 2005. The ideal has as many gold ids at the top as fit into k.
    """
    wanted = frozenset(gold)
    gained = sum(1 / log2(rank + 1) for rank, hit in enumerate(_hits(retrieved, wanted, k), start=1) if hit)
    ideal = sum(1 / log2(rank + 1) for rank in range(1, min(k, len(wanted)) + 1))
    return gained / ideal if wanted else None


def ndcg_longmemeval(retrieved: Sequence[Hashable], gold: Iterable[Hashable], k: int) -> float | None:
    """Return nDCG, 0..1, as LongMemEval publishes it: ranks 1 and 2 both gain 1, a later rank r gains 1 / log2(r).

    Wu et al. 2024, arXiv:2410.10813, by `eval_utils.py` of its repository. It does not tell
    the first rank from the second; compare it with values of the same kind only.
    """
    wanted = frozenset(gold)
    gained = sum(_late(rank) for rank, hit in enumerate(_hits(retrieved, wanted, k), start=1) if hit)
    ideal = sum(map(_late, range(1, min(k, len(wanted)) + 1)))
    return gained / ideal if wanted else None


def _late(rank: int) -> float:
    return 1.0 if rank == 1 else 1 / log2(rank)


def _hits(retrieved: Sequence[Hashable], wanted: Set[Hashable], k: int) -> list[bool]:
    """Return for each of the first `k` ranks whether it holds a gold id that no earlier one held."""
    if k < 1:
        raise ValueError(f"k is {k}; it counts ranks, and is 1 or more")
    left, hits = set(wanted), []
    for found in retrieved[:k]:
        hits.append(found in left)
        left.discard(found)
    return hits
