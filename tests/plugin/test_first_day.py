"""Mistakes of a first day: one sentence each, and nothing is asked."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case

SET = ECHOING.with_cases(case("a"))


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--record=mising",), "did you mean --record=missing?"),
        (("--record=misssing:other",), "did you mean --record=missing:other?"),
    ],
)
def test_a_misspelt_option_is_one_sentence(pytester: pytest.Pytester, options: tuple[str, ...], advice: str) -> None:
    checkout = SET.at(pytester)
    result = checkout.run("eval", *options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert advice in result.stderr.str()
    assert checkout.asked() == []


def test_a_misspelt_scope_is_one_sentence(pytester: pytest.Pytester) -> None:
    checkout = SET.with_agent("@pytest.fixture(scope='sesion')\ndef agent():\n    return str\n").at(pytester)
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "INTERNALERROR" not in result.stdout.str()
    [said] = [line for line in [*result.outlines, *result.errlines] if "'sesion'" in line]
    assert said.endswith("; correct that")


ASSERTING = """\
@pytest.fixture
def agent():
    return str


@pytest.fixture
def judge_mine():
    def judge(answer, case):
        assert answer.text == ""

    return judge
"""


def test_a_judge_that_asserts_is_told_what_to_return(pytester: pytest.Pytester) -> None:
    checkout = ECHOING.with_agent(ASSERTING).with_cases(case("a", judges=["mine"])).at(pytester)
    result = checkout.run("eval")
    result.assert_outcomes(errors=1)
    [said] = [line for line in result.outlines if "judge mine: asserts" in line]
    assert "return a bool, a score, or either with a reason" in said
    assert "Traceback" not in result.stdout.str()
