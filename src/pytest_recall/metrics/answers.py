"""Metrics of an answer's text against a reference: token F1, exact match, ROUGE-L, LoCoMo's F1, containment.

Maharana et al. 2024, arXiv:2402.17753, as `task_eval/evaluation.py` of its repository has it.

Rajpurkar et al. 2016, arXiv:1606.05250, section 6.1; where an answer has no words left, as
in the script of version 2.0 (Rajpurkar et al. 2018, arXiv:1806.03822).

Lower case is by single code points, without a look at the neighbours: a capital sigma is always
`σ`, `İ` (U+0130) is `i`, and nothing is folded, so that `STRASSE` and `straße` differ. This, the
tokens and the order of the arithmetic are those of published retrieval scores of memory systems,
so that values agree to the last bit. Letters newer than Python's Unicode stay as they are.

These look for the answer's text, not for the place where it was said: a text that names the
answer by accident counts, and one that says it in other words does not.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.metrics.abstention import abstains


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


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """Return the stem of a word, in lower case.

    Porter 1980, Program 14:130, with NLTK's extensions: `dying` is `die` and `news` stays
    `news`, where the original has `dy` and `new`. The latest words are remembered, about
    100,000 of them. Raises ModuleNotFoundError without NLTK.
    """
    return _stemmer()(word)


@cache
def _stemmer() -> Callable[[str], str]:
    try:
        # NLTK's other parts come with it; the stemmer needs none of its data.
        from nltk.stem.porter import PorterStemmer
    except ModuleNotFoundError:
        raise ModuleNotFoundError("needs nltk; run `pip install 'pytest-recall[metrics]'`") from None
    stemmer: Callable[[str], str] = PorterStemmer().stem
    return stemmer


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
        raise ValueError(f"{category!r} is not a category; one of 1 to 5 is")
    if category == 5:
        return float(abstains(answer, "locomo"))
    gold = str(reference)
    if category == 1:
        parts = [words(part) for part in answer.split(",")]
        scores = [max(f1(part, wanted) for part in parts) for wanted in map(words, gold.split(","))]
        return sum(scores) / len(scores)
    return f1(words(answer), words(gold.partition(";")[0] if category == 3 else gold))


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


_SQUAD_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalized(text: str) -> str:
    """Return `text` in lower case without ASCII punctuation, articles and superfluous white space.

    Punctuation goes without a gap: `blue-green` becomes `bluegreen`, and `3.14` becomes `314`.
    """
    return " ".join(_SQUAD_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())


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


_TEXT_TOKEN = re.compile(r"[a-z0-9']+")


def lowered(text: str) -> str:
    """Return `text` in lower case, each code point by itself."""
    # Of all code points only U+0130 becomes two, and only a capital sigma depends on where it stands.
    return text.replace("\u0130", "i").replace("\u03a3", "\u03c3").lower()


def tokens(text: str) -> list[str]:
    """Return the lower-case runs of `a-z`, `0-9` and `'` in `text`; no stems, no stop words."""
    return _TEXT_TOKEN.findall(lowered(text))


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


CHARACTERS = 4
"""Characters of English text to a token, as a rule of thumb; code and other scripts have fewer."""


def estimated_tokens(texts: Iterable[str]) -> int:
    """Return about how many tokens `texts` have together: characters / 4, rounded up.

    An estimate, off by a factor of two and more for other texts than English prose; say so
    where it is shown, and use a count where there is one.
    """
    return -(-sum(map(len, texts)) // CHARACTERS)
