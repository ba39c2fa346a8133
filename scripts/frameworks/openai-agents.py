"""The OpenAI Agents SDK as it comes: the Responses API, and traces sent to OpenAI."""

# /// script
# dependencies = ["openai-agents"]
# [tool.check-frameworks]
# setups = ["client"]
# ///
from __future__ import annotations

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool, set_default_openai_client
from given import PROMPT, SETUP, URL, page_of
from openai import AsyncOpenAI

if SETUP:
    set_default_openai_client(AsyncOpenAI(base_url=f"{URL}/v1"))
agent = Agent(name="index", instructions=PROMPT, model="gpt-5", tools=[function_tool(page_of)])


async def ask(question):
    return (await Runner.run(agent, question)).final_output


def ask_sync(question):
    # The SDK's own client is one for all threads; each has another event loop, so live calls at once would break.
    config = RunConfig(
        model_provider=OpenAIProvider(openai_client=AsyncOpenAI(base_url=f"{URL}/v1" if SETUP else None))
    )
    return Runner.run_sync(agent, question, run_config=config).final_output


async def ask_streamed(question):
    result = Runner.run_streamed(agent, question)
    async for _ in result.stream_events():
        pass
    return result.final_output
