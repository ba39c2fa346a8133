"""Containment: whether what a memory system returned holds the reference, and which piece comes nearest.

These look for the answer's text, not for the place where it was said: a text that names the
answer by accident counts, and one that says it in other words does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_recall.metrics.overlap import f1
from pytest_recall.metrics.text import contains, tokens


class Candidate(NamedTuple):
    """A text that came back, and its token F1 with the reference, 0..1."""

    text: str
    token_f1: float


def contains_at_k(retrieved: Sequence[str], reference: str, k: int) -> bool:
    """Whether any of the first `k` texts contains `reference`; published as “recall@k”, and a hit at k.

    False for k < 1, without texts, and for an empty reference; k may be larger than what was retrieved.
    """
    return any(contains(text, reference) for text in retrieved[: max(k, 0)])


def best_candidate(retrieved: Sequence[str], reference: str) -> Candidate:
    """Return the text with the highest token F1, the first of equals; an empty text if there is none.

    An oracle, since it knows the reference: what is scored on its choice is an upper bound of
    what a reader of these texts could be given first. All of them are looked at, not k. The choice is
    by F1: it may lack the reference while another text contains it.
    """
    wanted = tokens(reference)
    best = Candidate("", 0.0)
    for place, text in enumerate(retrieved):
        score = f1(tokens(text), wanted)
        if score > best.token_f1 or place == 0:
            best = Candidate(text, score)
    return best
