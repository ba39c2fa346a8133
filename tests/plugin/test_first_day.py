"""Mistakes of a first day: one sentence each, and nothing is asked."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, case

SET = ECHOING.with_cases(case("a"))


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


KEYLESS = """\
@pytest.fixture
def agent():
    import openai

    def answer(question):
        return openai.OpenAI().responses.create(model="gpt-5-nano", input=question).output_text

    return answer
"""


@pytest.mark.parametrize(("options", "traced"), [((), False), (("--tb=long",), True)])
def test_a_client_without_a_key_is_one_sentence(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], traced: bool
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    checkout = ECHOING.with_agent(KEYLESS).with_cases(*map(case, "abcdefg")).at(pytester)
    result = checkout.run("eval", "--recall-mode=all", *options)
    result.assert_outcomes(errors=5, skipped=2)
    [said] = [line for line in result.outlines if line.startswith("  error: a: ")]
    assert ("OPENAI_API_KEY" in said) is not traced
    assert any("responses.create" in line for line in result.outlines) is traced
