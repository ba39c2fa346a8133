"""Similarity judge: `similarity`, the cosine of two texts' embeddings by a small model on this machine."""

from __future__ import annotations

import logging
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_recall.core.errors import ArgumentError, RecallError, one_line
from pytest_recall.core.trial import Verdict
from pytest_recall.judges.text import texts

MODEL = "l2_supercat"
DIMENSIONS = 256
NEEDS = "needs wordllama; run `pip install 'pytest-recall[similarity]'`"
_LOADING = threading.Lock()


def similarity(answer: str, expected: Any) -> Verdict:
    """Score how near the answer is in meaning to `expected` (the best of a list): the cosine of embeddings, 0..1.

    A small model compares words, not facts: `$2` and `$20`, or a sentence and its denial, are near.
    Needs `pytest-recall[similarity]`. The threshold decides; 0.5 where none is given.
    """
    references = _references(expected)
    words = model()
    score, reference = max((max(0.0, min(1.0, words.similarity(answer, one))), one) for one in references)
    near, got = f"“{one_line(reference, 120)}”", f"“{one_line(answer, 120)}”"
    return Verdict(passed=None, score=score, reason=f"similarity {score:.2f} with {near}, got {got}")


def rehearsed(answer: str, expected: Any) -> Verdict:
    """Score nothing, without loading the model. Raises ArgumentError for what `similarity` cannot judge by."""
    _references(expected)
    if find_spec("wordllama") is None:
        raise ArgumentError(NEEDS)
    return Verdict(passed=None, score=0.0)


def _references(expected: Any) -> list[str]:
    references = texts(expected)
    if not all(reference.strip() for reference in references):
        raise ArgumentError("`expected` is empty, and nothing is near to it; write some text")
    return references


def model() -> Any:
    """Return the embedding model of this process. Raises RecallError where it is not installed."""
    with _LOADING:  # Cases may be judged in several threads; it is loaded once.
        return _load()


@cache
def _load() -> Any:
    """Return the model, from the weights in the installed package alone. Raises RecallError without it."""
    root, ours = logging.getLogger(), logging.NullHandler()
    root.addHandler(ours)  # It sets up the logging of whoever imports it, unless there is a handler.
    try:
        import wordllama
    except ImportError:
        raise RecallError(NEEDS) from None
    finally:
        root.removeHandler(ours)
    # Named as the folder of what was fetched before, the package's own has all that is needed;
    # left to itself it looks for the tokenizer elsewhere, and would fetch it.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(MODEL, cache_dir=folder, dim=DIMENSIONS, disable_download=True)
