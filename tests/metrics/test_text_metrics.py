"""Token F1 by values that were worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.metrics.text import token_f1, tokens

sentences = st.text("ab c'1.-Ä", max_size=30)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One pound, a day.", ["one", "pound", "a", "day"]),
        ("Don't pay £1.50!", ["don't", "pay", "1", "50"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("", []),
        ("… – ¿?", []),
    ],
)
def test_tokens(text: str, found: list[str]) -> None:
    assert tokens(text) == found


@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [
        ("no", "no", 1.0),
        ("no no no", "no", 0.5),  # precision 1/3, recall 1
        ("no", "no no no", 0.5),  # precision 1, recall 1/3
        ("no no", "no no no", 0.8),  # precision 1, recall 2/3
        ("One pound a day.", "one POUND a DAY", 1.0),
        ("day a pound one", "one pound a day", 1.0),
        ("one pound", "one pound a day", 2 / 3),  # precision 1, recall 1/2
        ("it costs one pound", "one pound a day", 0.5),  # precision 1/2, recall 1/2
        ("two euros", "one pound", 0.0),
        ("", "one pound", 0.0),
        ("one pound", "", 0.0),
        ("", "", 0.0),
        ("?!", "?!", 0.0),
    ],
)
def test_token_f1(answer: str, reference: str, score: float) -> None:
    assert token_f1(answer, reference) == pytest.approx(score)


@settings(deadline=None, database=None)
@given(sentences, sentences)
def test_token_f1_is_a_symmetric_score(one: str, other: str) -> None:
    score = token_f1(one, other)
    assert 0 <= score <= 1
    assert token_f1(other, one) == pytest.approx(score)
    assert (score == 1) == (bool(tokens(one)) and sorted(tokens(one)) == sorted(tokens(other)))
    assert (score == 0) == (not set(tokens(one)) & set(tokens(other)))
