"""deepeval: 1,000 tests, an agent that repeats its input, an exact comparison."""

from __future__ import annotations

import os

import pytest
from deepeval import assert_test
from deepeval.metrics import ExactMatchMetric
from deepeval.test_case import LLMTestCase

QUESTIONS = [f"What is the answer to question number {number}?" for number in range(int(os.environ["CASES"]))]


@pytest.mark.parametrize("question", QUESTIONS)
def test_echo(question: str) -> None:
    assert_test(LLMTestCase(input=question, actual_output=question, expected_output=question), [ExactMatchMetric()])
