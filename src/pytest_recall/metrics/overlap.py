"""Overlap: F1 of two bags of tokens, whichever way these were made."""

from __future__ import annotations

from collections.abc import Sequence


def f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    """Return the F1 score, 0..1, of two multisets of tokens; 0.0 where they share none, or both are empty.

    A token counts as often as both have it. Precision is that share of `given`, recall that of
    `wanted`, and F1 their harmonic mean (van Rijsbergen 1979, Information Retrieval, chapter 7).
    """
    left: dict[str, int] = {}
    for token in wanted:
        left[token] = left.get(token, 0) + 1
    overlap = 0
    for token in given:
        if count := left.get(token):
            left[token] = count - 1
            overlap += 1
    if overlap == 0:
        return 0.0
    precision, recall = overlap / len(given), overlap / len(wanted)
    return 2 * precision * recall / (precision + recall)
