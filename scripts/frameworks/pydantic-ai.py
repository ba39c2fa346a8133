"""Pydantic AI with a model of OpenAI, by the API that it takes by default."""

# /// script
# dependencies = ["pydantic-ai-slim[openai]"]
# [tool.check-frameworks]
# alone = ["ask_sync"]
# ///
from __future__ import annotations

import os

from given import PROMPT, page_of
from pydantic_ai import Agent

agent = Agent(os.environ.get("MODEL", "openai:gpt-5"), instructions=PROMPT, tools=[page_of])


async def ask(question):
    return (await agent.run(question)).output


def ask_sync(question):
    return agent.run_sync(question).output


async def ask_streamed(question):
    async with agent.run_stream(question) as result:
        return await result.get_output()
