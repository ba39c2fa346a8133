"""SQuAD: exact match and F1 of short answers as its evaluation script has them.

Rajpurkar et al. 2016, arXiv:1606.05250, section 6.1; where an answer has no words left, as
in the script of version 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822).
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

from pytest_recall.metrics.overlap import f1

_ARTICLE = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Return `text` in lower case without ASCII punctuation, articles and superfluous white space.

    Punctuation goes without a gap: `blue-green` becomes `bluegreen`, and `3.14` becomes `314`.
    """
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, references: Sequence[str]) -> bool:
    """Whether the answer is one of the references, once they are normalized. Raises ValueError without any."""
    given = normalized(answer)
    return any(given == normalized(reference) for reference in _some(references))


def squad_f1(answer: str, references: Sequence[str]) -> float:
    """Return the F1 score, 0..1, of the normalized words, with the best of the references.

    1.0 where both have no words, 0.0 where one of them has none. Raises ValueError without references.
    """
    given = normalized(answer).split()
    return max(_f1(given, normalized(reference).split()) for reference in _some(references))


def _f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    return f1(given, wanted) if given and wanted else float(given == wanted)


def _some(references: Sequence[str]) -> Sequence[str]:
    if not references or isinstance(references, str):
        raise ValueError("`references` must be a list of at least one text")
    return references
