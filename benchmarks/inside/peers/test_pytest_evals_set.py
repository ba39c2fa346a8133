"""pytest-evals: 1,000 tests, an agent that repeats its input, an exact comparison."""

from __future__ import annotations

import os
from typing import Any

import pytest

QUESTIONS = [f"What is the answer to question number {number}?" for number in range(int(os.environ["CASES"]))]


@pytest.mark.eval(name="echo")
@pytest.mark.parametrize("question", QUESTIONS)
def test_echo(eval_bag: Any, question: str) -> None:
    eval_bag.question = eval_bag.answer = question
    assert eval_bag.answer == question
