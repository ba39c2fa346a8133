"""The judge `similarity`, by the real model that comes with its package."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.judges.built_in import similarity
from tests.helpers.project import ECHOING, case
from tests.helpers.samples import unhurried

pytest.importorskip("wordllama")

FEE = "The late fee is $2 a day."


def score(answer: str, expected: Any) -> float:
    """Return the score of an answer."""
    verdict = similarity(answer, expected)
    assert verdict.passed is None
    assert verdict.score is not None
    return verdict.score


def test_other_words_for_the_same_are_nearer_than_something_else() -> None:
    assert score("Two dollars for each late day", FEE) > 0.5 > score("Our shop opens at nine.", FEE)


def test_the_same_text_is_nearest() -> None:
    assert score(FEE, FEE) == pytest.approx(1.0, abs=1e-6)


def test_the_best_of_a_list_counts() -> None:
    verdict = similarity("Two dollars for each late day", ["We open at nine.", FEE])
    assert verdict.reason == f"similarity {verdict.score:.2f} with “{FEE}”, got “Two dollars for each late day”"


def test_it_does_not_see_numbers_or_denials_as_the_page_says() -> None:
    assert score("The late fee is $20 a day.", FEE) > 0.9
    assert score("It is not allowed", "It is allowed") > 0.9


@given(st.text(), st.text(min_size=1).filter(str.strip))
@unhurried
def test_a_score_lies_between_0_and_1(answer: str, expected: str) -> None:
    assert 0 <= score(answer, expected) <= 1


@pytest.mark.parametrize("expected", ["", "  ", ["a", ""]])
def test_nothing_is_near_to_an_empty_reference(expected: Any) -> None:
    with pytest.raises(ValueError, match="`expected` is empty, and nothing is near to it; write some text"):
        similarity("x", expected)


def test_the_model_needs_no_network_and_leaves_the_logging_alone() -> None:
    program = (
        "import logging, socket\n"
        "def refuse(*args, **more): raise SystemExit('a socket')\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from pytest_recall.judges.built_in import similarity\n"
        "print(round(similarity('a', 'a').score), logging.getLogger().handlers, logging.getLogger().level)"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == (f"1 [] {logging.WARNING}\n", "", 0)


def test_a_missing_package_is_one_sentence(pytester: pytest.Pytester) -> None:
    hidden = "import sys\n\nsys.modules['wordllama'] = None\n"
    checkout = ECHOING.with_files({"conftest.py": hidden}).with_cases(case("a", judges=["similarity"])).at(pytester)
    result = checkout.run("eval")
    wanted = "judges: similarity: needs wordllama; run `pip install 'pytest-recall[[]similarity]'`"
    result.stdout.fnmatch_lines([f"eval/cases.yaml:1: {wanted}"])
    assert checkout.asked() == []


def test_a_case_is_judged_by_its_threshold(pytester: pytest.Pytester) -> None:
    given = {"expected": FEE, "input": "Two dollars for each late day"}
    cases = (
        case("usual", judges=["similarity"], **given),
        case("strict", judges=[{"similarity": {"threshold": 0.9}}], **given),
    )
    checkout = ECHOING.with_cases(*cases).at(pytester)
    checkout.run("eval").assert_outcomes(passed=1, failed=1)
    assert checkout.outcomes() == {"usual": "passed", "strict": "failed"}
