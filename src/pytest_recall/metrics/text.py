"""Text metrics: whether a reference is in a text, and how many of its words are.

Lower case is by single code points, without a look at the neighbours: a capital sigma is always
`σ`, `İ` (U+0130) is `i`, and nothing is folded, so that `STRASSE` and `straße` differ. This, the
tokens and the order of the arithmetic are those of published retrieval scores of memory systems,
so that values agree to the last bit. Letters newer than Python's Unicode stay as they are.
"""

from __future__ import annotations

import re

from pytest_recall.metrics.overlap import f1

_TOKEN = re.compile(r"[a-z0-9']+")


def lowered(text: str) -> str:
    """Return `text` in lower case, each code point by itself."""
    # Of all code points only U+0130 becomes two, and only a capital sigma depends on where it stands.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def tokens(text: str) -> list[str]:
    """Return the lower-case runs of `a-z`, `0-9` and `'` in `text`; no stems, no stop words."""
    return _TOKEN.findall(lowered(text))


def token_f1(answer: str, reference: str) -> float:
    """Return the F1 score, 0..1, of the token multisets of `answer` and `reference`.

    Overlap counts each token as often as both sides have it (SQuAD, Rajpurkar et al. 2016,
    with `tokens` in place of its normalisation). 0.0 if either side has no tokens: two texts
    in another script than a-z score 0.0, also if they are the same.
    """
    return f1(tokens(answer), tokens(reference))


def contains(text: str, reference: str) -> bool:
    """Whether `reference` is a part of `text`, in lower case; published as “exact match”, which it is not.

    Not a word: `Go` is in `Google`. White space and punctuation count. An empty reference is in nothing.
    """
    return reference != "" and lowered(reference) in lowered(text)
