"""The same cases as plain tests: the SDK of OpenAI over a transport that repeats the question."""

from __future__ import annotations

import json
import os

import httpx2
import openai
import pytest

COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": {"prompt_tokens": 16, "completion_tokens": 12, "total_tokens": 28},
}


def answer(request: httpx2.Request) -> httpx2.Response:
    asked = json.loads(request.read())
    message = {"role": "assistant", "content": f"> {asked['messages'][0]['content']}"}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return httpx2.Response(200, json={**COMPLETION, "choices": choices})


@pytest.fixture(scope="session")
def client() -> openai.OpenAI:
    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="none", base_url="http://127.0.0.1:9/v1", max_retries=0, http_client=http)


@pytest.mark.parametrize("number", range(int(os.environ["RECALL_BENCHMARK_CASES"])))
def test_case(client: openai.OpenAI, number: int) -> None:
    question = f"What is the answer to question number {number}?"
    asked = client.chat.completions.create(model="m", messages=[{"role": "user", "content": question}])
    assert asked.choices[0].message.content == f"> {question}"
