"""Pydantic AI with a model of OpenAI, by the API that it takes by default."""

# /// script
# dependencies = ["pydantic-ai-slim[openai]"]
# [tool.check-frameworks]
# setups = ["argument", "client"]
# alone = ["ask_sync"]
# ///
from __future__ import annotations

import os

from given import PROMPT, SETUP, URL, page_of
from pydantic_ai import Agent


def model():
    if not SETUP:
        return os.environ.get("MODEL", "openai:gpt-5")
    from openai import AsyncOpenAI  # its variants have other SDKs
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    address = f"{URL}/v1"
    if SETUP == "client":
        return OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=address)))
    return OpenAIResponsesModel("gpt-5", provider=OpenAIProvider(base_url=address))


agent = Agent(model(), instructions=PROMPT, tools=[page_of])


async def ask(question):
    return (await agent.run(question)).output


def ask_sync(question):
    return agent.run_sync(question).output


async def ask_streamed(question):
    async with agent.run_stream(question) as result:
        return await result.get_output()
