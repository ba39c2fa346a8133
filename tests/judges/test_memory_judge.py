"""The memory judge: three variants of the question, six points, and what does not pass."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.judges import memory_judge
from pytest_recall.trials.trial import Answer, Passage
from tests.helpers.samples import case
from tests.helpers.scripted import scores, sections
from tests.judges.panels import heard

ANSWER = Answer(text="One pound.", passages=(Passage(text="It is one pound a day."), Passage(text=" ")))


def points(correctness: int, completeness: int, hallucination: int) -> str:
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
    _, model = heard(inquiry, points(3, 2, 1))
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
    vote, _ = heard(memory_judge.inquiry(ANSWER, case()), points(*given))
    assert vote.score == pytest.approx(sum(given) / 6)
    assert (vote.passed, vote.reason) == (passed, f"{told}It says so.")


def test_a_threshold_is_a_share_of_the_points() -> None:
    assert heard(memory_judge.inquiry(ANSWER, case(), threshold=0.5), points(1, 1, 1))[0].passed
    assert not heard(memory_judge.inquiry(ANSWER, case(), threshold=1.0), points(3, 1, 1))[0].passed
    assert not heard(memory_judge.inquiry(ANSWER, case(), threshold=0.0), points(3, 2, 0))[0].passed


def test_excerpts_are_bounded_and_the_prompt_says_so() -> None:
    inquiry = memory_judge.inquiry(ANSWER, case(), excerpts=["a" * 600, "b" * 100], reads=400)
    _, model = heard(inquiry, points(3, 2, 1))
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
