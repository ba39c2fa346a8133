"""An agent that asks a model by the SDK of OpenAI, at the address in RECALL_BENCHMARK_MODEL."""

from __future__ import annotations

import os
from collections.abc import Callable

import openai
import pytest


@pytest.fixture(scope="session")
def client() -> openai.OpenAI:
    return openai.OpenAI(api_key="none", base_url=os.environ["RECALL_BENCHMARK_MODEL"] + "/v1", max_retries=0)


@pytest.fixture
def agent(client: openai.OpenAI) -> Callable[[str], str]:
    def ask(question: str) -> str:
        asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
        return asked.choices[0].message.content or ""

    return ask
