"""ROUGE-L: by hand, and beside the package rouge-score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.answers import RougeL, common_length, rouge_l
from tests.helpers.samples import unhurried

words = st.lists(st.sampled_from("abcd"), max_size=12)
sentences = st.text("abC1 .-é", max_size=40)


@pytest.mark.parametrize(
    ("answer", "reference", "found"),
    [
        ("police killed the gunman", "police kill the gunman", (0.75, 0.75, 0.75)),
        ("the gunman kill police", "police kill the gunman", (0.5, 0.5, 0.5)),
        ("She moved to Rome in May", "Rome", (1 / 6, 1.0, 2 / 7)),
        ("", "Rome", (0, 0, 0)),
        ("Rome", "", (0, 0, 0)),
        ("", "", (0, 0, 0)),
        ("Paris", "Rome", (0, 0, 0)),
        ("ROME!", "rome", (1, 1, 1)),
    ],
)
def test_by_hand(answer: str, reference: str, found: tuple[float, float, float]) -> None:
    assert rouge_l(answer, reference) == pytest.approx(found)


def table(one: list[str], other: list[str]) -> int:
    """Return the length of the longest common subsequence as textbooks have it."""
    above = [0] * (len(other) + 1)
    for a in one:
        row = [0]
        for j, b in enumerate(other):
            row.append(above[j] + 1 if a == b else max(above[j + 1], row[j]))
        above = row
    return above[-1]


@given(words, words)
@unhurried
def test_the_length_is_that_of_the_table(one: list[str], other: list[str]) -> None:
    assert common_length(one, other) == common_length(other, one) == table(one, other)


@pytest.fixture(scope="module", name="scorer")
def _scorer() -> Any:
    return pytest.importorskip("rouge_score.rouge_scorer").RougeScorer(["rougeL"])


@given(sentences, sentences)
@unhurried
def test_the_package_says_the_same(scorer: Any, answer: str, reference: str) -> None:
    theirs = scorer.score(reference, answer)["rougeL"]
    assert rouge_l(answer, reference) == pytest.approx((theirs.precision, theirs.recall, theirs.fmeasure))


@given(sentences, sentences)
@unhurried
def test_precision_and_recall_change_places_with_the_texts(one: str, other: str) -> None:
    found, back = rouge_l(one, other), rouge_l(other, one)
    assert all(0 <= value <= 1 for value in found)
    assert back == pytest.approx(RougeL(found.recall, found.precision, found.f))


def test_many_words_come_to_what_the_table_says() -> None:
    one = [str(number % 200) for number in range(600)]
    assert common_length(one, one[::-1]) == table(one, one[::-1])
