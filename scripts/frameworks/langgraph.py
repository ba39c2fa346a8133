"""A graph of LangGraph that loops between a model of langchain-openai and its tool."""

# /// script
# dependencies = ["langgraph", "langchain-openai"]
# [tool.check-frameworks]
# setups = ["argument", "client"]
# ///
from __future__ import annotations

import httpx
from given import PROMPT, SETUP, URL, page_of
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

tools = [tool(page_of)]
given = {"base_url": f"{URL}/v1"} if SETUP else {}
if SETUP == "client":
    given |= {"http_client": httpx.Client(), "http_async_client": httpx.AsyncClient()}
model = ChatOpenAI(model="gpt-5", **given).bind_tools(tools)


def told(state):
    return [SystemMessage(PROMPT), *state["messages"]]


def call_model(state):
    return {"messages": [model.invoke(told(state))]}


async def call_model_async(state):
    return {"messages": [await model.ainvoke(told(state))]}


def graph(node):
    made = StateGraph(MessagesState)
    made.add_node("model", node)
    made.add_node("tools", ToolNode(tools))
    made.add_edge(START, "model")
    made.add_conditional_edges("model", tools_condition)
    made.add_edge("tools", "model")
    return made.compile()


sync_graph, async_graph = graph(call_model), graph(call_model_async)


async def ask(question):
    return (await async_graph.ainvoke({"messages": [("user", question)]}))["messages"][-1].content


def ask_sync(question):
    return sync_graph.invoke({"messages": [("user", question)]})["messages"][-1].content


async def ask_streamed(question):
    said = []
    async for message, about in async_graph.astream({"messages": [("user", question)]}, stream_mode="messages"):
        if about["langgraph_node"] == "model" and isinstance(message.content, str):
            said.append(message.content)
    return "".join(said)
