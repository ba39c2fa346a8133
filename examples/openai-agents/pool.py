"""The agents: the desk of a swimming pool, which hands over to the one who knows, with the OpenAI Agents SDK."""

from __future__ import annotations

import os
from typing import Any

from agents import Agent, MaxTurnsExceeded, ModelSettings, OpenAIChatCompletionsModel, Runner, function_tool
from agents.items import HandoffOutputItem, ToolCallItem
from openai import AsyncOpenAI

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
COURSES = {"beginners": ("Monday 16:00", 0), "crawl": ("Tuesday 18:00", 4), "diving": ("Saturday 10:00", 2)}
"""When each course is, and how many places are free."""
FOUND = {
    "goggles": "blue, at the desk",
    "towel": "white, in the changing room",
    "watch": "silver, in the safe",
}


@function_tool
def course(name: str) -> str:
    """When a course is and how many places it has. Courses: beginners, crawl, diving."""
    if name not in COURSES:
        return "there is no such course"
    time, places = COURSES[name]
    return f"{name}: {time}, {places} places free"


@function_tool
def find(thing: str) -> str:
    """Look up whether a thing was found. Give one word, such as goggles."""
    return FOUND.get(thing.lower(), "nothing like that was found")


def desk() -> Agent:
    """Return the agent that everybody talks to first."""
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI())
    settings = ModelSettings(temperature=0, max_tokens=80)
    one = "Look it up with your tool, then answer in one short sentence."
    lessons = Agent(
        name="Lessons",
        handoff_description="Knows the courses.",
        instructions=f"You book swimming courses. {one}",
        model=model,
        model_settings=settings,
        tools=[course],
    )
    lost = Agent(
        name="Lost property",
        handoff_description="Looks for lost things.",
        instructions=f"You keep lost things. {one}",
        model=model,
        model_settings=settings,
        tools=[find],
    )
    return Agent(
        name="Desk",
        instructions=(
            "You are the first to talk to at a swimming pool. Transfer to Lessons for courses and to Lost property for "
            "lost things. Answer anything else yourself in one short sentence: open daily from 8:00 to 20:00, "
            "a ticket is 5 euros."
        ),
        model=model,
        model_settings=settings,
        handoffs=[lessons, lost],
    )


class Pool:
    """Runs a question through the agents."""

    def __init__(self) -> None:
        self._desk = desk()

    async def answer(self, question: str) -> dict[str, Any]:
        """Return the answer, and as its passages who did what, in order."""
        try:
            result = await Runner.run(self._desk, question, max_turns=5)
            items, text = result.new_items, str(result.final_output)
        except MaxTurnsExceeded as exceeded:
            # Agents that go on and on are at fault themselves; what breaks otherwise is raised.
            items, text = exceeded.run_data.new_items if exceeded.run_data else [], "I have found no answer."
        trail = [{"source": self._desk.name, "text": "asked"}]
        for item in items:
            if isinstance(item, HandoffOutputItem):
                trail.append({"source": item.target_agent.name, "text": "handed over"})
            elif isinstance(item, ToolCallItem):
                trail.append({"source": item.raw_item.name, "text": item.raw_item.arguments})
        return {"text": text, "passages": trail}
