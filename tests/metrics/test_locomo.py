"""LoCoMo's F1: values that its evaluation script printed, with NLTK's stemmer."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.metrics.answers import CATEGORIES, locomo_f1, stem, words
from tests.helpers.samples import unhurried

pytest.importorskip("nltk")
sentences = st.text("abthe nd,.;'s", max_size=20)


@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [
        ("May 7, 2023", "7 May 2023", 1),
        ("on the 7th of May", "7 May 2023", 0.2857142857142857),
        ("the cats", "cat", 1),
        ("Painting", "paint", 1),
        ("running and swimming", "ran, swim", 0.5),
        ("blue-green", "blue green", 0),
        ("Carol's dog", "carol dog", 1),
        ("1,000 dollars", "1000 dollar", 1),
        ("rock and roll", "rock roll", 1),
        ("", "", 0),
        ("a", "the", 0),
        ("don’t", "don't", 0),
        ("cat cat dog", "cat dog dog", 0.6666666666666666),
    ],
)
@pytest.mark.parametrize("category", [2, 3, 4])
def test_one_answer(answer: str, reference: str, score: float, category: int) -> None:
    assert locomo_f1(answer, reference, category) == pytest.approx(score, abs=1e-15)


@pytest.mark.parametrize(
    ("answer", "reference", "score"),
    [
        ("pottery, painting", "pottery, camping, painting, swimming", 0.5),
        ("pottery camping painting swimming", "pottery, camping, painting, swimming", 0.4),
        ("mother and father", "mother, father, her friend Karlie", 0.4444444444444444),
        ("x, y", "", 0),
    ],
)
def test_a_list_of_answers(answer: str, reference: str, score: float) -> None:
    assert locomo_f1(answer, reference, 1) == pytest.approx(score, abs=1e-15)


def test_of_an_open_question_counts_what_stands_before_the_semicolon() -> None:
    assert locomo_f1("yes", "Yes; she likes it", 3) == 1
    assert locomo_f1("yes", "Yes; she likes it", 4) < 1


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("This is NOT MENTIONED in the conversation", 1),
        ("No information available.", 1),
        ("He went to Rome", 0),
        ("", 0),
        ("I do not know", 0),
    ],
)
def test_an_adversarial_question_wants_a_refusal_in_its_words(answer: str, score: float) -> None:
    assert locomo_f1(answer, "Rome", 5) == score


def test_a_number_is_its_text() -> None:
    assert locomo_f1("in 2022", 2022, 2) == pytest.approx(2 / 3)


@pytest.mark.parametrize("category", [0, 6, -1])
def test_there_are_five_categories(category: int) -> None:
    assert list(CATEGORIES) == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match=f"{category} is not a category; one of 1 to 5 is"):
        locomo_f1("x", "x", category)


@pytest.mark.parametrize(
    ("word", "found"), [("dying", "die"), ("news", "news"), ("enjoyed", "enjoy"), ("Running", "run"), ("", "")]
)
def test_stems_are_those_of_the_default_mode(word: str, found: str) -> None:
    assert stem(word) == found


@given(st.text("abcdeginslyr", max_size=15) | st.text())
@unhurried
def test_stems_are_those_of_the_package(word: str) -> None:
    from nltk.stem.porter import PorterStemmer

    assert stem(word) == PorterStemmer().stem(word)


@given(sentences, sentences, st.sampled_from([1, 2, 3, 4]))
@unhurried
def test_a_score_lies_between_0_and_1(answer: str, reference: str, category: int) -> None:
    assert 0 <= locomo_f1(answer, reference, category) <= 1 + 1e-12


@given(sentences)
@unhurried
def test_the_same_text_is_right_if_it_has_words(text: str) -> None:
    assert locomo_f1(text, text, 4) == float(bool(words(text)))


def test_without_the_package_one_sentence_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['nltk'] = None\n"
        "from pytest_recall.metrics.answers import locomo_f1\n"
        "assert locomo_f1('not mentioned', '', 5) == 1\n"
        "try:\n    locomo_f1('a dog', 'dogs', 4)\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "needs nltk; run `pip install 'pytest-recall[metrics]'`\n"
