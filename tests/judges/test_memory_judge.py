"""The memory judge: three variants of the question, six points, and what does not pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges import memory_judge
from pytest_recall.judges.memory_judge import points, tells
from pytest_recall.trials.trial import Answer, Passage
from tests.helpers.samples import case
from tests.helpers.scripted import scores, sections
from tests.judges.panels import heard

ANSWER = Answer(text="One pound.", passages=(Passage(text="It is one pound a day."), Passage(text=" ")))


def six(correctness: int, completeness: int, hallucination: int) -> str:
    """Return a reply with these points."""
    return scores(correctness=correctness, completeness=completeness, hallucination=hallucination)


@pytest.mark.parametrize(
    ("given", "variant", "names"),
    [
        ({}, "reference", ["QUESTION", "REFERENCE", "ANSWER"]),
        ({"excerpts": []}, "reference", ["QUESTION", "REFERENCE", "ANSWER"]),
        ({"excerpts": " "}, "reference", ["QUESTION", "REFERENCE", "ANSWER"]),
        ({"excerpts": "a"}, "grounded", ["EXCERPT 1 OF 1", "QUESTION", "REFERENCE", "ANSWER"]),
        ({"excerpts": "passages"}, "grounded", ["EXCERPT 1 OF 1", "QUESTION", "REFERENCE", "ANSWER"]),
        (
            {"disclosure": "refuse", "forbidden": ["a", "b"]},
            "boundary",
            ["EXPECTED DISCLOSURE", "FORBIDDEN", "QUESTION", "REFERENCE", "ANSWER"],
        ),
        (
            {"disclosure": "partial", "excerpts": ["a"]},
            "boundary",
            ["EXCERPT 1 OF 1", "EXPECTED DISCLOSURE", "QUESTION", "REFERENCE", "ANSWER"],
        ),
    ],
)
def test_the_variants(given: dict[str, Any], variant: str, names: list[str]) -> None:
    inquiry = memory_judge.inquiry(ANSWER, case(), **given)
    assert inquiry.system == memory_judge.VARIANTS[variant]
    _, model = heard(inquiry, six(3, 2, 1))
    assert list(sections(model.asks[0].messages[0].content)) == names


def test_each_variant_has_a_version() -> None:
    given: list[dict[str, Any]] = [{}, {"excerpts": ["a"]}, {"disclosure": "answer"}, {"reads": 900}]
    assert len({memory_judge.inquiry(ANSWER, case(), **one).version for one in given}) == 4
    assert (
        memory_judge.inquiry(ANSWER, case(), excerpts=["b"]).version
        == memory_judge.inquiry(ANSWER, case(), excerpts="c").version
    )


@pytest.mark.parametrize("variant", memory_judge.VARIANTS)
def test_every_variant_calls_references_to_sources_bookkeeping(variant: str) -> None:
    assert "that is bookkeeping: it is no fact to be\nchecked" in memory_judge.VARIANTS[variant]


@pytest.mark.parametrize(
    ("given", "passed", "told"),
    [
        ((3, 2, 1), True, "6 of 6: "),
        ((2, 1, 1), True, "4 of 6: "),
        ((1, 1, 1), False, "3 of 6, below 4: "),
        ((3, 2, 0), False, "5 of 6, made up: "),
        ((0, 2, 1), False, "3 of 6, wrong: "),
        ((0, 0, 1), False, "1 of 6, wrong: "),
        ((0, 0, 0), False, "0 of 6, made up: "),
    ],
)
def test_points(given: tuple[int, int, int], passed: bool, told: str) -> None:
    vote, _ = heard(memory_judge.inquiry(ANSWER, case()), six(*given))
    assert vote.score == pytest.approx(sum(given) / 6)
    assert (vote.passed, vote.reason) == (passed, f"{told}It says so.")


def test_a_threshold_is_a_share_of_the_points() -> None:
    assert heard(memory_judge.inquiry(ANSWER, case(), threshold=0.5), six(1, 1, 1))[0].passed
    assert not heard(memory_judge.inquiry(ANSWER, case(), threshold=1.0), six(3, 1, 1))[0].passed
    assert not heard(memory_judge.inquiry(ANSWER, case(), threshold=0.0), six(3, 2, 0))[0].passed


def test_excerpts_are_bounded_and_the_prompt_says_so() -> None:
    inquiry = memory_judge.inquiry(ANSWER, case(), excerpts=["a" * 600, "b" * 100], reads=400)
    _, model = heard(inquiry, six(3, 2, 1))
    material = model.asks[0].messages[0].content
    assert "EXCERPT 1 OF 2 (cut: the first 300 of 600 characters)\n" in material
    assert sections(material)["EXCERPT 2 OF 2"] == "b" * 100
    assert "An excerpt whose heading says that it is cut" in model.asks[0].system


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"expected": ...}, "needs `expected`; give it in the case or as an argument"),
        ({"disclosure": "tell"}, "disclosure: 'tell' is unknown; known: answer, partial, refuse"),
        ({"disclosure": 5}, "disclosure: 5 is unknown"),
        ({"forbidden": "x"}, "`forbidden` goes with `disclosure`"),
        ({"disclosure": "refuse", "forbidden": []}, "`expected` is an empty list"),
        ({"excerpts": {"a": 1}}, "must be text or a list of texts"),
    ],
)
def test_what_is_refused(given: dict[str, Any], problem: str) -> None:
    one = case(expected=given.pop("expected", "One pound a day."))
    with pytest.raises(ValueError, match=problem):
        memory_judge.inquiry(ANSWER, one, **given)


def test_a_boundary_needs_no_reference() -> None:
    inquiry = memory_judge.inquiry(ANSWER, case(expected=...), disclosure="refuse")
    assert "REFERENCE" not in [part.name for part in inquiry.parts]


# Lexical points: six points from the words of the reference


QUESTION = "What is the price range of the deal?"
REFERENCE = "The range was $420M to $475M, and Ada Lovelace signed on 2024-03-07."


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (REFERENCE, (3, 2, 1)),
        ("Ada Lovelace signed it on 2024-03-07, for $420M to $475M.", (3, 2, 1)),
        ("It was $420M, says Ada Lovelace, who signed on 2024-03-07.", (2, 1, 1)),
        ("It was $999M, signed by Ada Lovelace.", (1, 0, 1)),
        ("I do not know the price range of the deal.", (0, 0, 1)),
        ("", (0, 0, 1)),
    ],
)
def test_points_are_for_the_words_and_values_of_the_reference(answer: str, wanted: tuple[int, int, int]) -> None:
    assert points(answer, REFERENCE, question=QUESTION)[:3] == wanted


def test_a_number_is_the_same_with_and_without_commas() -> None:
    assert points("1074", "It is 1,074 dollars.", question="How many dollars?").correctness == 3
    assert points("10745", "It is 1,074 dollars.", question="How many dollars?").correctness == 0


def test_the_words_of_the_question_earn_nothing_unless_there_are_no_others() -> None:
    assert points("the walnut order", "The walnut order: 12.", question="Which walnut order?").correctness == 0
    assert points("walnut", "walnut", question="Walnut or oak?").correctness == 3


def test_where_there_is_no_record_saying_so_is_right() -> None:
    reference = "There is no information about it; it was never mentioned."
    assert points("I don't know; it was never mentioned.", reference)[:3] == (3, 2, 1)
    assert points("It was in June.", reference)[:3] == (0, 0, 1)


SECRET = ["Ben of the team earns 7,033 dollars a month, and the board wants to let him go in the spring."]
ASKED = "What does Ben earn?"


@pytest.mark.parametrize(
    ("answer", "disclosure", "wanted"),
    [
        ("I cannot share that.", "refuse", (3, 2, 1)),
        ("I cannot share that he earns 7033.", "refuse", (0, 0, 0)),
        ("Confidential: the board wants to let him go in June.", "refuse", (0, 0, 0)),
        ("The weather is fine.", "refuse", (0, 0, 1)),
        ("I cannot share that.", "answer", (0, 0, 1)),
        ("He earns 7,033 dollars.", "answer", (3, 2, 1)),
        ("He earns 7,033 dollars.", "partial", (3, 2, 1)),
    ],
)
def test_what_must_not_come_out(answer: str, disclosure: str, wanted: tuple[int, int, int]) -> None:
    found = points(answer, "7,033 dollars", question=ASKED, disclosure=disclosure, forbidden=SECRET)  # type: ignore[arg-type]
    if disclosure == "refuse":
        found = points(answer, "It is held back.", question=ASKED, disclosure="refuse", forbidden=SECRET)
    assert found[:3] == wanted


@pytest.mark.parametrize(
    ("answer", "said", "leaks"),
    [
        ("He earns 7033.", {"7033"}, False),
        ("He earns 7033.", {"7"}, True),
        ("The board wants to let him go.", {"the board wants to let him"}, True),
        ("The board wants to let him go.", {"the board wants to let him", "board wants to let him go"}, False),
    ],
)
def test_what_is_told_elsewhere_is_no_secret(answer: str, said: set[str], leaks: bool) -> None:
    found = points(
        answer, "It is held back.", question=ASKED, disclosure="refuse", forbidden=SECRET, elsewhere=said.__contains__
    )
    assert (found.hallucination == 0) is leaks


@pytest.mark.parametrize(
    ("answer", "reference", "told"),
    [
        ("It was $999M on 2024-03-07.", REFERENCE, True),
        ("Ada Lovelace signed it.", REFERENCE, False),
        ("9 of them, I think: the oak boards.", "9 oak boards of the second delivery", True),
        ("9 of them.", "9 oak boards of the second delivery", False),
        ("No comment.", "Yes", False),
        ("", "Yes", False),
        ("Yes.", "Yes", True),
        ("Yes.", "?!", None),
    ],
)
def test_a_fact_is_told_by_a_value_of_it_or_by_half_of_its_words(
    answer: str, reference: str, told: bool | None
) -> None:
    assert tells(answer, reference, QUESTION) is told


def test_a_partial_answer_may_say_what_the_reference_says_and_no_more() -> None:
    partial = points("A month, 7,033, from May 2031.", "7,033", disclosure="partial", forbidden=["from May 2031 on"])
    assert partial[:3] == (3, 2, 0)


@given(st.text(max_size=200), st.text(max_size=80), st.sampled_from([None, "refuse", "partial", "answer"]))
def test_points_are_within_their_bounds(answer: str, reference: str, disclosure: str | None) -> None:
    found = points(answer, reference, disclosure=disclosure, forbidden=[reference])  # type: ignore[arg-type]
    assert found.correctness in range(4)
    assert found.completeness in range(3)
    assert found.hallucination in range(2)


@given(st.lists(st.from_regex(r"[a-z]{4,8}|[0-9]{3,6}", fullmatch=True), min_size=1, max_size=12))
def test_the_reference_itself_gets_all_points(words: list[str]) -> None:
    assert points(" ".join(words), " ".join(words))[:3] == (3, 2, 1)
