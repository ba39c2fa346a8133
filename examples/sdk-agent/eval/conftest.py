"""The system under test, and a judge of our own."""

from __future__ import annotations

import os

import pytest
from desk import Desk

# The recordings are of this address. In a replay nothing is there, and nothing needs to be.
os.environ["ANTHROPIC_BASE_URL"] = os.environ.get("MODEL_URL", "http://127.0.0.1:18080")
os.environ.setdefault("ANTHROPIC_API_KEY", "none-needed")


@pytest.fixture(scope="session")
def agent():
    """The desk; its client is made once."""
    return Desk().answer


@pytest.fixture(scope="session")
def judge_brief():
    """Pass if the answer has at most `words` words."""

    def judge(answer, case, *, words=25):
        count = len(answer.text.split())
        return count <= words, f"{count} words, more than {words}"

    return judge
