"""LoCoMo: the F1 of answers about long conversations, by category of question.

Maharana et al. 2024, arXiv:2402.17753, as `task_eval/evaluation.py` of its repository has it.
"""

from __future__ import annotations

import re
import string
from types import MappingProxyType

from pytest_recall.metrics.abstention import abstains
from pytest_recall.metrics.overlap import f1
from pytest_recall.metrics.stems import stem

CATEGORIES = MappingProxyType({1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"})
"""What the numbers in the data mean to its evaluation; the paper lists the same kinds in another order."""

_ARTICLE = re.compile(r"\b(a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str) -> list[str]:
    """Return the stems of the words of `text`, without ASCII punctuation and a, an, the, and.

    Punctuation goes without a gap: `blue-green` is one word. Raises ModuleNotFoundError without NLTK.
    """
    return [stem(word) for word in _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()]


def locomo_f1(answer: str, reference: str | int, category: int) -> float:
    """Return the score, 0..1, of an answer to a question of this category, as `CATEGORIES` numbers them.

    2, 3, 4: F1 of the bags of stems; 0.0 where they share none, also if both have none. Of a
    reference of category 3 only what stands before the first `;` counts.
    1: reference and answer are lists with commas; the mean, over parts of the reference, of
    the best F1 of a part of the answer.
    5: 1.0 if the answer says `not mentioned` or `no information available`, else 0.0; the
    reference is not looked at.

    Raises ValueError for another category, and ModuleNotFoundError without NLTK but for category 5.
    """
    if category not in CATEGORIES:
        raise ValueError(f"{category!r} is no category; one of 1 to 5 is")
    if category == 5:
        return float(abstains(answer, "locomo"))
    gold = str(reference)
    if category == 1:
        parts = [words(part) for part in answer.split(",")]
        scores = [max(f1(part, wanted) for part in parts) for wanted in map(words, gold.split(","))]
        return sum(scores) / len(scores)
    return f1(words(answer), words(gold.partition(";")[0] if category == 3 else gold))
