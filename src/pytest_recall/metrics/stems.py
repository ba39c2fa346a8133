"""Stems: English words without their endings, by NLTK's Porter stemmer in its default mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache


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
