"""The judge of datasets: by the answer where there is one, else by the passages, and never by accident."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.judges.built_in import benchmark
from pytest_recall.trials.trial import ANSWERED, Answer, Passage


def case(**given: Any) -> Case:
    plain = {
        "id": "q",
        "scenario": "s",
        "dimension": "single-hop",
        "memory": {"facts": [{"id": "a", "text": "Ana sold the red boat"}, {"id": "b", "text": "It rains"}]},
        "input": "?",
        "expected": "the boat",
        "evidence": ["a"],
        "judges": ["benchmark"],
    }
    return Case.model_validate({**plain, **given})


def passages(*sources: str) -> Answer:
    return Answer(text="boats", passages=tuple(Passage(text="x", source=s) for s in sources), usage={ANSWERED: 0})


def said(text: str) -> Answer:
    return Answer(text=text, usage={ANSWERED: 1})


def test_passages_pass_with_all_of_the_evidence() -> None:
    verdict = benchmark(passages("b", "a"), case(), dataset="locomo")
    assert (verdict.passed, verdict.score) == (True, 1.0)
    half = benchmark(passages("a"), case(evidence=["a", "b"]), dataset="locomo")
    assert (half.passed, half.score) == (False, 0.5)
    assert half.reason == "1 of 2 pieces of evidence in 1 passages, without “b”, below 1"
    assert benchmark(passages("a"), case(evidence=["a", "b"]), threshold=0.5).passed


def test_no_passages_are_a_fail() -> None:
    assert benchmark(passages(), case(), dataset="locomo").score == 0


def test_passages_without_evidence_are_looked_through_for_the_answer() -> None:
    answer = Answer(text="He sold the  Boat", usage={ANSWERED: 0})
    assert benchmark(answer, case(evidence=None), dataset="dmr").passed


def test_passages_that_name_nothing_are_no_zero() -> None:
    answer = Answer(text="x", passages=(Passage(text="rewritten"),), usage={ANSWERED: 0})
    with pytest.raises(ValueError, match="no passage names its source text"):
        benchmark(answer, case(), dataset="locomo")


@pytest.mark.parametrize(
    ("text", "passed", "score"), [("boats", True, 1.0), ("a boat of his", True, 0.5), ("the car", False, 0.0)]
)
def test_an_answer_to_locomo_is_scored_by_its_f1(text: str, passed: bool, score: float) -> None:
    verdict = benchmark(said(text), case(), dataset="locomo")
    assert (verdict.passed, verdict.score) == (passed, score)


def test_an_answer_to_another_dataset_has_to_contain_the_expected_one() -> None:
    assert benchmark(said("It was the boat."), case(dimension="multi-session"), dataset="longmemeval").passed
    assert not benchmark(said("A car."), case(dimension="multi-session"), dataset="longmemeval").passed


def test_an_agent_that_says_nothing_of_its_passages_answers() -> None:
    assert benchmark(Answer(text="the boat"), case(), dataset="locomo").passed


@pytest.mark.parametrize(
    ("dataset", "text", "passed"),
    [
        ("locomo", "Not mentioned in the conversation", True),
        ("locomo", "I don't know", False),
        ("longmemeval", "I don’t know", True),
        ("longmemeval", "A boat", False),
    ],
)
def test_what_was_never_said_is_judged_by_abstention(dataset: str, text: str, passed: bool) -> None:
    verdict = benchmark(said(text), case(expected=None), dataset=dataset, unanswerable=True)
    assert (verdict.passed, verdict.score) == (passed, float(passed))


@pytest.mark.parametrize(
    ("answer", "given", "unanswerable"),
    [
        (passages("a"), {}, True),
        (said("x"), {"expected": None}, False),
        (passages("a"), {"expected": None, "evidence": None}, False),
    ],
)
def test_what_cannot_be_judged_is_no_verdict(answer: Answer, given: dict[str, Any], unanswerable: bool) -> None:
    with pytest.raises(ValueError):
        benchmark(answer, case(**given), dataset="locomo", unanswerable=unanswerable)
