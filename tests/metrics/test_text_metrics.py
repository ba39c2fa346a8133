"""Token F1 and containment: values worked out by hand, and those of a reference implementation in Go."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_recall.metrics.answers import contains, lowered, token_f1, tokens
from tests.helpers.samples import unhurried

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


# Each was printed by the reference implementation; floats are the same to the last bit.
REFERENCE = [
    ("Alice uses Go for her projects", "Go", True, 0.2857142857142857),
    ("Alice uses go", "GO", True, 0.5),
    ("Bob worked at Google", "Go", True, 0),
    ("Alice likes hiking", "Go", False, 0),
    ("Alice", "", False, 0),
    ("", "", False, 0),
    ("", "Go", False, 0),
    ("a b", " ", True, 0),
    ("---", "---", True, 0),
    ("Alice uses Python", "Alice uses Go", False, 0.6666666666666666),
    ("the the the cat", "the cat", True, 0.6666666666666666),
    ("the cat", "the the the cat", False, 0.6666666666666666),
    ("go go go", "go", True, 0.5),
    ("go", "go go", False, 0.6666666666666666),
    ("don't stop", "dont stop", False, 0.5),
    ("don\u2019t stop", "don't stop", False, 0.4),
    ("don\u2019t stop", "don\u2019t stop", True, 1),
    ("'quoted'", "quoted", True, 0),
    ("'", "'", True, 1),
    ("''", "'", True, 0),
    ("caf\u00e9", "cafe", False, 0),
    ("caf\u00e9", "caf\u00e9", True, 1),
    ("na\u00efve", "na ve", False, 1),
    ("cafe\u0301", "caf\u00e9", False, 0),
    ("東京", "東京", True, 0),
    ("İstanbul", "istanbul", True, 1),
    ("İ", "i", True, 1),
    ("ΟΔΟΣ", "οδος", False, 0),
    ("ΟΔΟΣ", "οδοσ", True, 0),
    ("STRASSE", "straße", False, 0),
    ("STRAßE", "straße", True, 1),
    ("\u212a", "k", True, 1),
    ("blue green deployments", "blue-green", False, 0.8),
    ("blue-green deployments", "blue-green", True, 0.8),
    ("3.14", "3 14", False, 1),
    ("89%", "89%", True, 1),
    ("achieved 890% gain", "89%", False, 0),
    ("It is 89 percent", "89%", False, 0.4),
    ("snake_case", "snake case", False, 1),
    ("Austin Texas", "Austin, Texas", False, 1),
    ("Austin,\nTexas", "Austin, Texas", False, 1),
    ("\uff11\uff12", "12", False, 0),
    ("e\u200bx", "ex", False, 0),
    ("\ufeffGo", "Go", True, 1),
    ("Alice uses Go", "Go Alice", False, 0.8),
    ("Go is used by Alice", "Go Alice", False, 0.5714285714285715),
]


@pytest.mark.parametrize(("text", "reference", "contained", "score"), REFERENCE)
def test_values_of_the_reference_implementation(text: str, reference: str, contained: bool, score: float) -> None:
    assert contains(text, reference) is contained
    assert token_f1(text, reference) == score


def naive(text: str) -> str:
    """Lower each code point by itself."""
    return "".join("i" if c == "\u0130" else c.lower() for c in text)


def test_every_code_point_is_lowered_by_itself() -> None:
    everything = "".join(map(chr, range(0x110000)))
    assert lowered(everything) == naive(everything)


difficult = st.text(st.sampled_from("aA ΣσςİıiK\u0307ßẞéÉ'-.1東"), max_size=20)


@settings(unhurried, max_examples=200)
@given(difficult | st.text(), difficult)
def test_neighbours_do_not_matter_to_lower_case(text: str, other: str) -> None:
    assert lowered(text) == naive(text)
    assert lowered(text + other) == lowered(text) + lowered(other)


@settings(deadline=None, database=None)
@given(difficult, difficult, difficult)
def test_a_text_contains_its_parts(before: str, part: str, after: str) -> None:
    assert contains(before + part + after, part) is (part != "")
    assert contains(before, part) is any(
        part != "" and naive(before)[i : i + len(naive(part))] == naive(part) for i in range(len(before) + 1)
    )


@settings(deadline=None, database=None)
@given(sentences, st.randoms(use_true_random=False))
def test_the_order_of_tokens_does_not_matter(text: str, random: Random) -> None:
    shuffled = tokens(text)
    random.shuffle(shuffled)
    assert token_f1(" ".join(shuffled), text) == float(bool(shuffled))
