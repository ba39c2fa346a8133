"""The OpenAI Agents SDK with a tool of an MCP server, over streamable HTTP with a session for each question."""

# /// script
# dependencies = ["openai-agents"]
# [tool.check-frameworks]
# changes = ["prompt"]
# mcp = true
# ///
from __future__ import annotations

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp
from given import PROMPT, URL


async def ask(question):
    async with MCPServerStreamableHttp(params={"url": f"{URL}/mcp"}) as server:
        agent = Agent(name="index", instructions=PROMPT, model="gpt-5", mcp_servers=[server])
        return (await Runner.run(agent, question)).final_output


async def ask_streamed(question):
    async with MCPServerStreamableHttp(params={"url": f"{URL}/mcp"}) as server:
        agent = Agent(name="index", instructions=PROMPT, model="gpt-5", mcp_servers=[server])
        result = Runner.run_streamed(agent, question)
        async for _ in result.stream_events():
            pass
        return result.final_output
