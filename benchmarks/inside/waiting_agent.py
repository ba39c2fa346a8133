"""The agents of the measured suites that wait for an upstream: sync, async, and a plain test of each question."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable
from random import Random

import pytest

SECONDS = 0.1


def latency(question: str) -> float:
    """Return how long the upstream takes: always the same, or with a long tail and the same mean."""
    if os.environ.get("RECALL_BENCHMARK_TAIL"):
        return Random(question).expovariate(1 / SECONDS)
    return SECONDS


def ask(question: str) -> str:
    """Ask, and wait."""
    time.sleep(latency(question))
    return question


async def ask_async(question: str) -> str:
    """Ask, and let others go on."""
    import asyncio

    await asyncio.sleep(latency(question))
    return question


@pytest.fixture(scope="session")
def agent() -> Callable[[str], str] | Callable[[str], Awaitable[str]]:
    return ask_async if os.environ.get("RECALL_BENCHMARK_ASYNC") else ask
