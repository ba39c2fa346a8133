"""ROUGE-L: the longest common subsequence of two texts' words, as precision, recall and F."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(r"[a-z0-9]+")


class RougeL(NamedTuple):
    """The longest common subsequence as a share of the answer, of the reference, and their harmonic mean; 0..1."""

    precision: float
    recall: float
    f: float


def rouge_l(answer: str, reference: str) -> RougeL:
    """Return ROUGE-L of an answer; all 0.0 if either text has no tokens.

    Lin 2004, “ROUGE: A Package for Automatic Evaluation of Summaries”, section 3.1, with F at
    beta = 1 and tokens of `a-z` and `0-9` without stems, as the package rouge-score has them
    by default.
    """
    given, wanted = _TOKEN.findall(answer.lower()), _TOKEN.findall(reference.lower())
    common = common_length(given, wanted)
    if common == 0:
        return RougeL(0.0, 0.0, 0.0)
    precision, recall = common / len(given), common / len(wanted)
    return RougeL(precision, recall, 2 * precision * recall / (precision + recall))


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    A bit for each place of the shorter one, so that a row of the usual table is one addition
    (Hyyrö 2004, “Bit-parallel LCS-length computation revisited”).
    """
    short, long = sorted((one, other), key=len)
    places: dict[str, int] = {}
    for place, token in enumerate(short):
        places[token] = places.get(token, 0) | 1 << place
    full = (1 << len(short)) - 1
    row = full
    for token in long:
        if matches := row & places.get(token, 0):
            row = (row + matches | row - matches) & full
    return len(short) - row.bit_count()
