"""An agent of two calls, and a judge of one, that ask the model at RECALL_BENCHMARK_MODEL."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

CLIENT = httpx.Client(trust_env=False, timeout=60)


def said(*messages: str) -> str:
    """Ask the model."""
    asked = {"model": "m", "messages": [{"role": "user", "content": text} for text in messages]}
    done = CLIENT.post(os.environ["RECALL_BENCHMARK_MODEL"] + "/v1/chat/completions", json=asked)
    return str(done.raise_for_status().json()["choices"][0]["message"]["content"])


@pytest.fixture
def agent() -> Callable[[str], str]:
    def ask(question: str) -> str:
        return said(question, said(question)).rpartition("> ")[2]

    return ask


@pytest.fixture
def judge_graded() -> Callable[[Any, Any], bool]:
    return lambda answer, case: bool(said(f"Is this right? {answer.text}"))
