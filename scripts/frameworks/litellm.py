"""A loop around LiteLLM, which has no agent of its own."""

# /// script
# dependencies = ["litellm"]
# [tool.check-frameworks]
# setups = ["argument", "client"]
# fetches = ["https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"]
# ///
from __future__ import annotations

import json

import litellm
from given import PROMPT, SETUP, URL, page_of
from openai import AsyncOpenAI, OpenAI

TOOL = {
    "name": "page_of",
    "description": page_of.__doc__,
    "parameters": {"type": "object", "properties": {"term": {"type": "string"}}, "required": ["term"]},
}
GIVEN = {"model": "openai/gpt-4o", "tools": [{"type": "function", "function": TOOL}]}

if SETUP == "argument":
    GIVEN["api_base"] = f"{URL}/v1"


def asked_with(client):
    return {**GIVEN, "client": client(base_url=f"{URL}/v1")} if SETUP == "client" else GIVEN


def begin(question):
    return [{"role": "system", "content": PROMPT}, {"role": "user", "content": question}]


def called(messages, message):
    """Add what the model said and what its tools return; return whether there were any."""
    messages.append(message.model_dump(exclude_none=True))
    for call in message.tool_calls or ():
        result = page_of(**json.loads(call.function.arguments))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
    return bool(message.tool_calls)


async def ask(question):
    messages, given = begin(question), asked_with(AsyncOpenAI)
    while called(messages, (await litellm.acompletion(messages=messages, **given)).choices[0].message):
        pass
    return messages[-1]["content"]


def ask_sync(question):
    messages, given = begin(question), asked_with(OpenAI)
    while called(messages, litellm.completion(messages=messages, **given).choices[0].message):
        pass
    return messages[-1]["content"]


async def ask_streamed(question):
    messages, given = begin(question), asked_with(AsyncOpenAI)
    while True:
        chunks = [chunk async for chunk in await litellm.acompletion(messages=messages, stream=True, **given)]
        if not called(messages, litellm.stream_chunk_builder(chunks).choices[0].message):
            return messages[-1]["content"]
