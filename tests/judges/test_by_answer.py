"""By its answer: what a case expects once its answer is accepted, where its judges allow that."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_recall.cases.case import Case
from pytest_recall.judges.by_answer import NotByAnswer, by_answer, differs
from pytest_recall.trials.trial import ANSWERED, Answer, Judgement, Trial, Verdict
from tests.helpers.samples import FAILED, trial


def case(expected: Any, *judges: Any) -> Case:
    """Return a case with these judges."""
    given = {"id": "a", "scenario": "s", "dimension": "d", "input": "x", "expected": expected, "judges": judges}
    return Case.model_validate(given)


def failed(text: str, *verdicts: Verdict) -> Trial:
    """Return a fail on an answer."""
    return trial("a", FAILED, answer=Answer(text=text), verdicts=verdicts)


@pytest.mark.parametrize(
    ("expected", "judges", "answer", "value"),
    [
        ("ten", ["exact"], " eleven\n", "eleven"),
        ("ten", [{"exact": {"ignore_case": True}}], "Eleven", "Eleven"),
        ("10", ["exact"], "11", "11"),
        (10, ["exact"], "11", 11),
        (10, ["exact"], "011", "011"),
        (10, ["exact"], "eleven", "eleven"),
        (1.5, ["numeric"], "1.25", 1.25),
        (1.5, ["numeric"], "0.1000000000000000055", "0.1000000000000000055"),
        ("1,5", [{"numeric": {"decimal": ","}}], "1.250,5", "1250,5"),
        ("a b", [{"token_f1": {"threshold": 0.9}}], "c d", "c d"),
        (10, ["numeric"], "It is 1,250 now.", 1250),
        ("10", ["numeric"], "It is 12.5 now.", "12.5"),
        (10, [{"numeric": {"pick": "last", "tolerance": 1}}], "not 10 but 12", 12),
        (10, [{"numeric": {"pick": "first"}}], "12, not 10", 12),
        (10, ["numeric"], "12, or 12", 12),
        (10, ["numeric", "exact"], "12", 12),
    ],
)
def test_the_answer_takes_its_place(expected: Any, judges: list[Any], answer: str, value: Any) -> None:
    found = by_answer(case(expected, *judges), [failed(answer)])
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("expected", "judges", "answer", "why"),
    [
        ("ten", ["exact"], " ", "its answer is empty"),
        (["ten", "10"], ["exact"], "eleven", "its `expected` is not a single text or number"),
        (None, ["exact"], "eleven", "its `expected` is not a single text or number"),
        ("ten", [{"exact": "ten"}], "eleven", "none of its judges compares with its `expected`"),
        ("ten", ["contains"], "eleven", "which part of the answer `contains` looks for is unknown"),
        ("ten", ["regex"], "eleven", "which part of the answer `regex` looks for is unknown"),
        ("ten", ["exact", "rubric"], "eleven", "`rubric` does not compare with `expected`"),
        ("ten", ["exact", {"contains": "x"}], "eleven", "`contains` failed it, which does not compare with its"),
        (10, ["numeric"], "none", "its answer has no numbers"),
        (10, ["numeric"], "1 or 2", "its answer has 2 numbers"),
        ("a", ["token_f1"], "…", "its judges would not pass its answer if they expected '…'"),
        (10, ["numeric", "exact"], "It is 12.", "its judges would not pass its answer if they expected 'It is 12.'"),
    ],
)
def test_why_it_cannot(expected: Any, judges: list[Any], answer: str, why: str) -> None:
    found = by_answer(case(expected, *judges), [failed(answer)])
    assert isinstance(found, NotByAnswer)
    assert found.why.startswith(why)


def test_what_a_model_judges_is_left_to_a_person() -> None:
    verdicts = (Verdict(passed=False, judge="exact"), Verdict(passed=True, judge="mine", judgement=Judgement()))
    assert by_answer(case("ten", "exact", "mine"), [failed("11", *verdicts)]) == NotByAnswer("a model judges it")


def test_of_several_trials_all_gave_the_same_answer_or_there_is_none() -> None:
    ten = case("ten", "exact")
    assert by_answer(ten, [failed("11"), failed(" 11 ")]) == "11"
    assert by_answer(ten, [failed("11"), failed("12")]) == NotByAnswer("its trials gave different answers")
    assert by_answer(ten, [trial("a", FAILED)]) == NotByAnswer("no answer of it is known")


@pytest.mark.parametrize("text", ["key [REDACTED]", "key [OPENAI_API_KEY]"])
def test_an_answer_without_its_secret_is_another_one(text: str) -> None:
    assert by_answer(case("ten", "exact"), [failed(text)]) == NotByAnswer("a secret in its answer was taken out")
    assert by_answer(case("ten", "exact"), [failed("[NOTE] eleven")]) == "[NOTE] eleven"


def test_passages_are_no_answer() -> None:
    found = trial("a", FAILED, answer=Answer(text="eleven", usage={ANSWERED: 0}))
    assert by_answer(case("ten", "exact"), [found]) == NotByAnswer("a memory answered with passages alone")


def test_a_judge_that_stands_beside_has_passed_it() -> None:
    verdicts = (Verdict(passed=False, judge="exact"), Verdict(passed=True, judge="contains"))
    assert by_answer(case("ten", "exact", {"contains": "11"}), [failed("11", *verdicts)]) == "11"


def test_a_judge_of_the_name_of_a_built_in_one_is_seen() -> None:
    ten = case("ten", "exact")
    assert differs(ten, failed("ten", Verdict(passed=False, judge="exact"))) == "exact"
    assert differs(ten, failed("11", Verdict(passed=False, judge="exact"))) == ""
    assert differs(case("a b", "token_f1"), failed("a b", Verdict(passed=False, judge="token_f1"))) == ""
