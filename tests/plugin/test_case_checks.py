"""Checks of a project's own: what its hook says of a case ends a run before it asks, and is a problem to check."""

from __future__ import annotations

import pytest

from tests.helpers.project import ECHOING, WORKERS, Checkout, case

CHECK = """\
from pytest_recall.ext import hookimpl


@hookimpl
def pytest_recall_check_case(case):
    BODY
"""
SHORT = "return [] if len(case.input) > 3 else [f'`input` has {len(case.input)} characters; write a question']"
CASES = ECHOING.with_cases(case("long", input="What is it?"), case("short", input="It?"))


def checkout_with(pytester: pytest.Pytester, body: str) -> Checkout:
    return CASES.with_files({"conftest.py": CHECK.replace("BODY", body)}).at(pytester)


@WORKERS
def test_nothing_is_asked_while_a_case_is_wrong(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    checkout = checkout_with(pytester, SHORT)
    result = checkout.run("eval", *workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED if not workers else result.ret != 0
    assert any("eval/cases.yaml:7: `input` has 3 characters; write a question" in line for line in result.outlines)
    assert not checkout.asked()


def test_check_says_the_same(pytester: pytest.Pytester) -> None:
    result = checkout_with(pytester, SHORT).recall("check")
    assert result.ret == 1
    assert "recall: eval/cases.yaml:7: `input` has 3 characters; write a question" in result.errlines


@pytest.mark.parametrize("body", ["return None", "return []", "return ()"])
def test_without_a_sentence_nothing_is_wrong(pytester: pytest.Pytester, body: str) -> None:
    assert checkout_with(pytester, body).run("eval").ret == 0


@pytest.mark.parametrize(("body", "fault"), [("return 3", "returns int"), ("1 / 0", "conftest.py:6")])
def test_a_fault_is_named_with_its_file(pytester: pytest.Pytester, body: str, fault: str) -> None:
    checkout = checkout_with(pytester, body)
    result = checkout.run("eval")
    assert result.ret != 0
    (line,) = (line for line in result.outlines if line.startswith("the extension of conftest.py"))
    assert fault in line
    assert not checkout.asked()
