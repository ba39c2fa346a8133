"""pydantic-evals: 1,000 cases, a task that repeats its input, an exact comparison."""

from __future__ import annotations

import sys

from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import EqualsExpected


async def echo(question: str) -> str:
    return question


questions = [f"What is the answer to question number {number}?" for number in range(int(sys.argv[1]))]
dataset = Dataset(
    name="echo",
    cases=[Case(name=f"case-{at}", inputs=text, expected_output=text) for at, text in enumerate(questions)],
    evaluators=[EqualsExpected()],
)
report = dataset.evaluate_sync(echo, progress=False)
passed = sum(all(found.value for found in case.assertions.values()) for case in report.cases)
print(f"{passed} passed")
