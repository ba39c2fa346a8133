"""An agent of LlamaIndex that calls functions; it streams its calls by default."""

# /// script
# dependencies = ["llama-index-core", "llama-index-llms-openai"]
# ///
from __future__ import annotations

from given import PROMPT, URL, page_of
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai import OpenAI


def agent():
    llm = OpenAI("gpt-4o", api_base=f"{URL}/v1")
    return FunctionAgent(tools=[page_of], llm=llm, system_prompt=PROMPT)


async def ask(question):
    return str(await agent().run(question))


async def ask_streamed(question):
    handler = agent().run(question)
    async for _ in handler.stream_events():
        pass
    return str(await handler)
