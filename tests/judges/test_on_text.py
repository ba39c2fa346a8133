"""From a pure function over texts to a judge over an answer and a case."""

from __future__ import annotations

import inspect

import pytest

from pytest_recall.judges.built_in import contains, exact, json_schema, numeric, on_text, regex, token_f1
from pytest_recall.trials.trial import Answer, Verdict
from tests.helpers.samples import case

ANSWER = Answer(text="One pound a day.")


def test_the_case_says_what_is_expected() -> None:
    assert on_text(exact)(ANSWER, case()) == Verdict(passed=True, score=1.0)


def test_an_argument_takes_its_place() -> None:
    assert on_text(exact)(ANSWER, case(), expected="Two pounds.").passed is False


def test_arguments_are_passed_on() -> None:
    judge = on_text(exact)
    assert judge(ANSWER, case(expected="one pound a day.")).passed is False
    assert judge(ANSWER, case(expected="one pound a day."), ignore_case=True).passed is True


@pytest.mark.parametrize("check", [exact, regex, numeric, token_f1])
def test_something_has_to_be_expected(check: object) -> None:
    with pytest.raises(ValueError, match="needs `expected`; give it in the case or as an argument"):
        on_text(check)(ANSWER, case(expected=None))  # type: ignore[arg-type]


def test_unless_the_judge_does_without() -> None:
    silent = case(expected=None)
    assert on_text(contains)(ANSWER, silent, absent="euro").passed is True
    assert on_text(json_schema)(Answer(text="3"), silent, schema={"type": "integer"}).passed is True


def test_arguments_stay_visible() -> None:
    parameters = inspect.signature(on_text(contains)).parameters
    assert list(parameters) == ["answer", "case", "expected", "any", "ignore_case", "absent"]
    assert [name for name, p in parameters.items() if p.kind is p.KEYWORD_ONLY] == list(parameters)[2:]
    assert parameters["ignore_case"].default is True


@pytest.mark.parametrize("check", [exact, contains, regex, json_schema, numeric, token_f1])
def test_the_documentation_is_kept(check: object) -> None:
    judge = on_text(check)  # type: ignore[arg-type]
    assert judge.__doc__ == check.__doc__
    assert judge.__doc__
