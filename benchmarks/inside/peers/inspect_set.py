"""inspect_ai: 1,000 samples, a solver that repeats its input, an exact comparison; what it writes by default."""

from __future__ import annotations

import sys

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import exact
from inspect_ai.solver import Generate, Solver, TaskState, solver


@solver
def echo() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.output = ModelOutput.from_content("echo", state.input_text)
        return state

    return solve


questions = [f"What is the answer to question number {number}?" for number in range(int(sys.argv[1]))]
task = Task(dataset=[Sample(input=text, target=text) for text in questions], solver=echo(), scorer=exact())
(log,) = evaluate(task, model="mockllm/model", display="none")
assert log.results is not None, log.error
print(f"{log.results.completed_samples} passed, {log.results.scores[0].metrics['mean'].value}")
