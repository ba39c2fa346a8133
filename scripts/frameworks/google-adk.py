"""An agent of Google's ADK with Gemini, in a session in memory."""

# /// script
# dependencies = ["google-adk"]
# ///
from __future__ import annotations

import asyncio

from given import PROMPT, page_of
from google.adk.agents import Agent, RunConfig
from google.adk.agents.run_config import StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types


async def ask(question, config=None):
    agent = Agent(name="index", model="gemini-2.5-flash", instruction=PROMPT, tools=[page_of])
    runner = InMemoryRunner(agent, app_name="index")
    session = await runner.session_service.create_session(app_name="index", user_id="us")
    message = types.Content(role="user", parts=[types.Part(text=question)])
    given = {"user_id": "us", "session_id": session.id, "new_message": message, "run_config": config or RunConfig()}
    said = [event.content.parts[0].text async for event in runner.run_async(**given) if event.is_final_response()]
    return said[-1]


def ask_sync(question):
    return asyncio.run(ask(question))


async def ask_streamed(question):
    return await ask(question, RunConfig(streaming_mode=StreamingMode.SSE))
