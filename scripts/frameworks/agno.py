"""An agent of Agno, which tells its makers of each run."""

# /// script
# dependencies = ["agno", "openai"]
# [tool.check-frameworks]
# setups = ["argument", "client"]
# ///
from __future__ import annotations

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from given import PROMPT, SETUP, URL, page_of
from openai import AsyncOpenAI, OpenAI


def address():
    if SETUP == "client":
        return {"client": OpenAI(base_url=f"{URL}/v1"), "async_client": AsyncOpenAI(base_url=f"{URL}/v1")}
    return {"base_url": f"{URL}/v1"} if SETUP else {}


def agent():
    return Agent(model=OpenAIChat(id="gpt-4o", **address()), instructions=PROMPT, tools=[page_of])


async def ask(question):
    return (await agent().arun(question)).content


def ask_sync(question):
    return agent().run(question).content


async def ask_streamed(question):
    return "".join([event.content async for event in agent().arun(question, stream=True) if event.content])
