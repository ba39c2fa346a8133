"""Names of cases in an environment whose encoding is ASCII."""

from __future__ import annotations

import sys

import pytest

from tests.helpers.project import ECHOING, case

NAMED = ECHOING.with_cases(case("größe"), case("länge"), case("b"))
HOW = "does not have these characters; set PYTHONUTF8=1, or a locale of UTF-8 such as LC_ALL=C.UTF-8"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the environment is in UTF-8")


@pytest.fixture(autouse=True)
def _ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    for name, value in {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}.items():
        monkeypatch.setenv(name, value)


def test_what_it_does_not_have_is_one_sentence(pytester: pytest.Pytester) -> None:
    checkout = NAMED.at(pytester)
    result = checkout.run_afresh("-p", "recall", "eval")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = [line for line in (*result.outlines, *result.errlines) if "ERROR" in line]
    assert len(said) == 1
    assert said[0].startswith(
        r"ERROR: eval/cases.yaml::gr\xf6\xdfe (and 1 more case): the encoding of this environment"
    )
    assert said[0].endswith(HOW)
    assert checkout.asked() == []


def test_other_cases_run(pytester: pytest.Pytester) -> None:
    project = ECHOING.with_agent("@pytest.fixture\ndef agent():\n    return lambda question: question\n")
    result = project.with_cases(case("b", input="größe")).at(pytester).run_afresh("-p", "recall", "eval")
    result.assert_outcomes(passed=1)


def test_it_can_be_listed(pytester: pytest.Pytester) -> None:
    result = NAMED.at(pytester).run_afresh("-p", "recall", "eval", "--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    assert r"eval/cases.yaml::gr\xf6\xdfe" in result.outlines


def test_with_utf_8_it_runs(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUTF8", "1")
    NAMED.at(pytester).run_afresh("-p", "recall", "eval").assert_outcomes(passed=3)
