"""The agent of smolagents that calls tools; it has no async one."""

# /// script
# dependencies = ["smolagents[openai]"]
# [tool.check-frameworks]
# setups = ["argument"]
# ///
from __future__ import annotations

from given import PROMPT, SETUP, URL, page_of
from smolagents import OpenAIModel, ToolCallingAgent, tool

made = tool(page_of)


def agent(stream=False):
    model = OpenAIModel("gpt-4o", **({"api_base": f"{URL}/v1"} if SETUP else {}))
    return ToolCallingAgent(
        tools=[made], model=model, instructions=PROMPT, max_steps=4, verbosity_level=0, stream_outputs=stream
    )


def ask_sync(question):
    return agent().run(question)


def ask_streamed(question):
    return list(agent(stream=True).run(question, stream=True))[-1].output
