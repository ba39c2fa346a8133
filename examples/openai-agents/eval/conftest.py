"""The system under test, and the judge of who answered."""

from __future__ import annotations

import os

import pytest
from agents import set_tracing_disabled
from pool import Pool

# The recordings are of this address. In a replay nothing is there, and nothing needs to be.
os.environ["OPENAI_BASE_URL"] = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
os.environ.setdefault("OPENAI_API_KEY", "none-needed")
# The SDK sends what every agent does to OpenAI's servers, from a thread of its own, whichever model answers.
set_tracing_disabled(True)


@pytest.fixture(scope="session")
def agent():
    """The desk and those whom it hands over to."""
    return Pool().answer


@pytest.fixture(scope="session")
def judge_way():
    """Pass if the question went this way: the names of agents and tools in order, others between them or not."""

    def judge(answer, case, *, expected=None):
        names = [passage.source for passage in answer.passages]
        rest = iter(names)
        missing = [name for name in expected if name not in rest]
        return not missing, f"went {' → '.join(names)}, without {' → '.join(missing)}"

    return judge


@pytest.fixture(scope="session")
def judge_answered_by():
    """Pass if this agent was the last that the question was handed to."""

    def judge(answer, case, *, expected=None):
        last = [p.source for p in answer.passages if p.text in ("asked", "handed over")][-1]
        return last == expected, f"{last} answered, not {expected}"

    return judge
