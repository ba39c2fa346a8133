"""Text metrics: how much of a reference is in an answer."""

from __future__ import annotations

import re
from collections import Counter

_TOKEN = re.compile(r"[a-z0-9']+")


def tokens(text: str) -> list[str]:
    """Return the lower-case runs of `a-z`, `0-9` and `'` in `text`; no stems, no stop words."""
    return _TOKEN.findall(text.lower())


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 score, 0..1, of the token multisets of `answer` and `reference`.

    Overlap counts each token as often as both sides have it (SQuAD, Rajpurkar et al. 2016,
    with `tokens` in place of its normalisation). 0.0 if either side has no tokens.
    """
    given, wanted = Counter(tokens(answer)), Counter(tokens(reference))
    overlap = (given & wanted).total()
    if overlap == 0:
        return 0.0
    precision = overlap / given.total()
    recall = overlap / wanted.total()
    return 2 * precision * recall / (precision + recall)
