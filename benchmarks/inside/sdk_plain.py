"""The same cases as plain tests: the SDK of OpenAI over a transport that repeats the question."""

from __future__ import annotations

import json
import os

import httpx2
import openai
import pytest


def answer(request: httpx2.Request) -> httpx2.Response:
    asked = json.loads(request.read())
    message = {"role": "assistant", "content": f"> {asked['messages'][0]['content']}"}
    return httpx2.Response(200, json={"model": "m", "choices": [{"message": message, "finish_reason": "stop"}]})


@pytest.fixture(scope="session")
def client() -> openai.OpenAI:
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9/v1", max_retries=0, http_client=http)


@pytest.mark.parametrize("number", range(int(os.environ["RECALL_BENCHMARK_CASES"])))
def test_case(client: openai.OpenAI, number: int) -> None:
    question = f"What is the answer to question number {number}?"
    asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    assert asked.choices[0].message.content == f"> {question}"
