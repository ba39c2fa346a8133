"""A client of MCP over streamable HTTP, with a session and a stream of its own on which the server could speak."""

# /// script
# dependencies = ["mcp>=2.0,<3"]
# [tool.check-frameworks]
# changes = ["prompt"]
# mcp = true
# ///
from __future__ import annotations

import asyncio

from given import PROMPT, URL
from mcp import Client


async def ask(question):
    async with Client(f"{URL}/mcp", mode="legacy") as client:
        await client.list_tools()
        found = await client.call_tool("page_of", {"term": question.split()[-1].rstrip("?"), "reason": PROMPT})
        return found.content[0].text


def ask_sync(question):
    return asyncio.run(ask(question))
