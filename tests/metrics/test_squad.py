"""SQuAD's scores: values worked out by its evaluation script's rules, and what holds for all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.answers import exact_match, normalized, squad_f1
from tests.helpers.samples import unhurried

sentences = st.text("abthe .,-'", max_size=20)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The Cat, a dog; an owl!", "cat dog owl"),
        ("blue-green", "bluegreen"),
        ("3.14", "314"),
        ("the theatre", "theatre"),
        ("  a\tb\n", "b"),
        ("the", ""),
        ("a-b", "ab"),
        ("don’t", "don’t"),
        ("and", "and"),
    ],
)
def test_normalized(text: str, found: str) -> None:
    assert normalized(text) == found


@pytest.mark.parametrize(
    ("answer", "references", "exact", "f1"),
    [
        ("the Eiffel Tower.", ["Eiffel tower"], True, 1.0),
        ("Eiffel", ["Eiffel Tower"], False, 2 / 3),
        ("in the Eiffel Tower", ["Big Ben", "Eiffel Tower"], False, 0.8),
        ("Paris", ["London", "paris!"], True, 1.0),
        ("", [""], True, 1.0),
        ("the", ["a"], True, 1.0),
        ("", ["Paris"], False, 0.0),
        ("Paris", ["the"], False, 0.0),
        ("Rome", ["Paris"], False, 0.0),
    ],
)
def test_scores(answer: str, references: list[str], exact: bool, f1: float) -> None:
    assert exact_match(answer, references) is exact
    assert squad_f1(answer, references) == pytest.approx(f1, abs=1e-15)


@pytest.mark.parametrize("references", [[], "Paris"])
def test_references_are_a_list_of_some(references: list[str]) -> None:
    with pytest.raises(ValueError, match="`references` must be a list of at least one text"):
        exact_match("Paris", references)
    with pytest.raises(ValueError, match="`references` must be a list of at least one text"):
        squad_f1("Paris", references)


@given(sentences, sentences, sentences)
@unhurried
def test_what_holds_for_all_texts(one: str, other: str, third: str) -> None:
    score = squad_f1(one, [other])
    assert 0 <= score <= 1
    assert squad_f1(other, [one]) == pytest.approx(score)
    assert squad_f1(one, [one]) == 1
    assert not exact_match(one, [other]) or score == 1
    assert squad_f1(one, [other, third]) == max(score, squad_f1(one, [third]))
    assert normalized(normalized(one)) == normalized(one) or "the" in one or "a" in one
