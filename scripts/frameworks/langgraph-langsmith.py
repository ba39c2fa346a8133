"""LangGraph with the tracing of LangSmith on."""

# /// script
# dependencies = ["langgraph", "langchain-openai"]
# [tool.check-frameworks]
# environment = { LANGSMITH_TRACING = "true", LANGSMITH_API_KEY = "no-key-of-langsmith" }
# ///
from __future__ import annotations

from given import PROMPT, page_of
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

tools = [tool(page_of)]
model = ChatOpenAI(model="gpt-5").bind_tools(tools)


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
