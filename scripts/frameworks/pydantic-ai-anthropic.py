"""Pydantic AI with Claude."""

# /// script
# dependencies = ["pydantic-ai-slim[anthropic]"]
# [tool.check-frameworks]
# alone = ["ask_sync"]
# ///
from __future__ import annotations

from given import PROMPT, page_of
from pydantic_ai import Agent

agent = Agent("anthropic:claude-sonnet-4-5", instructions=PROMPT, tools=[page_of])


async def ask(question):
    return (await agent.run(question)).output


def ask_sync(question):
    return agent.run_sync(question).output


async def ask_streamed(question):
    async with agent.run_stream(question) as result:
        return await result.get_output()
