"""A crew of CrewAI with one agent and one task; traces go to its makers."""

# /// script
# dependencies = ["crewai"]
# [tool.check-frameworks]
# setups = ["argument"]
# ///
from __future__ import annotations

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from given import PROMPT, SETUP, URL, page_of

made = tool("page_of")(page_of)


def crew(question, stream=False):
    llm = LLM(model="gpt-4o", stream=stream, **({"base_url": f"{URL}/v1"} if SETUP else {}))
    agent = Agent(role="index", goal=PROMPT, backstory="An index of a book.", tools=[made], llm=llm)
    task = Task(description=question, expected_output="The page.", agent=agent)
    return Crew(agents=[agent], tasks=[task])


async def ask(question):
    return (await crew(question).kickoff_async()).raw


def ask_sync(question):
    return crew(question).kickoff().raw


def ask_streamed(question):
    return crew(question, stream=True).kickoff().raw
