"""An agent of Strands, which wraps all threads with OpenTelemetry, and asks in a thread of its own where it is sync."""

# /// script
# dependencies = ["strands-agents[openai]"]
# [tool.check-frameworks]
# setups = ["argument", "client"]
# ///
from __future__ import annotations

from given import PROMPT, SETUP, URL, page_of
from openai import AsyncOpenAI
from strands import Agent, tool
from strands.models.openai import OpenAIModel

made = tool(page_of)


def agent():
    address = {}
    if SETUP == "client":
        address["client"] = AsyncOpenAI(base_url=f"{URL}/v1")
    elif SETUP:
        address["client_args"] = {"base_url": f"{URL}/v1"}
    return Agent(model=OpenAIModel(model_id="gpt-4o", **address), system_prompt=PROMPT, tools=[made])


async def ask(question):
    return str(await agent().invoke_async(question))


def ask_sync(question):
    return str(agent()(question))


async def ask_streamed(question):
    events = [event async for event in agent().stream_async(question)]
    return str(events[-1]["result"])
