"""The agent: the guide of a holiday cottage, a graph that searches, grades what it found, and answers."""

from __future__ import annotations

import os
import re
from typing import Any, Literal, TypedDict

from langchain_core.messages import HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
NOTES = {
    "keys": "The key is in the box beside the green door. Its code is 4471.",
    "heating": "Turn the heating on with the round switch in the hall. Please leave it at 16 degrees when you go.",
    "stove": "Burn dry wood only. It is in the shed; the first basket is free, another costs 6 euros.",
    "internet": "The name of the wireless network is HILLSIDE, and its password is larch-and-pine.",
    "rubbish": "The rubbish is collected on Thursday. Put the grey bin at the road on Wednesday evening.",
    "dogs": "Dogs are welcome downstairs. They may not go into the bedrooms.",
    "leaving": "Leave by 10 in the morning, and put the key back into the box.",
}


class State(TypedDict, total=False):
    """What goes from node to node."""

    question: str
    query: str
    found: list[str]
    rewritten: bool
    answer: str


class Grade(BaseModel):
    """Whether notes answer a question."""

    relevant: bool = Field(description="true if the notes hold the answer to the question")


class Topic(BaseModel):
    """Where to look when words do not help."""

    topic: Literal["keys", "heating", "stove", "internet", "rubbish", "dogs", "leaving", "none"]


def search(query: str, limit: int = 2) -> list[str]:
    """Return the names of the notes that share most words with the query."""
    words = {word[:5] for word in re.findall(r"\w{4,}", query.lower())}
    score = {
        name: sum(word[:5] in words for word in set(re.findall(r"\w{4,}", f"{name} {text}".lower())))
        for name, text in NOTES.items()
    }
    best = sorted((name for name in score if score[name]), key=lambda name: -score[name])
    return best[:limit]


def guide() -> Any:
    """Return the graph: search → grade → answer, or once rewrite → search again."""
    model = ChatOpenAI(model=MODEL, temperature=0, max_tokens=80, max_retries=0)
    grader = model.with_structured_output(Grade, method="json_schema")
    chooser = model.with_structured_output(Topic, method="json_schema")

    def shown(state: State) -> str:
        return "\n".join(NOTES[name] for name in state["found"]) or "(nothing)"

    async def retrieve(state: State) -> State:
        return {"found": search(state.get("query") or state["question"])}

    async def grade(state: State) -> Literal["answer", "rewrite"]:
        if state.get("rewritten"):
            return "answer"
        graded = await grader.ainvoke(
            f"Notes:\n{shown(state)}\n\nQuestion: {state['question']}\n\nIs the answer in the notes?"
        )
        return "answer" if graded.relevant else "rewrite"

    async def rewrite(state: State) -> State:
        chosen = await chooser.ainvoke(f"Which topic is this question about? {state['question']}")
        return {"query": chosen.topic, "rewritten": True}

    async def answer(state: State) -> State:
        rules = "Answer the guest in one short sentence, from the notes alone. If they do not say it: I do not know."
        asked = HumanMessage(f"Notes:\n{shown(state)}\n\nQuestion: {state['question']}")
        said = await model.ainvoke([SystemMessage(rules), asked])
        return {"answer": said.text}

    graph = StateGraph(State)
    for node in (retrieve, rewrite, answer):
        graph.add_node(node.__name__, node)
    graph.add_edge(START, "retrieve")
    graph.add_conditional_edges("retrieve", grade)
    graph.add_edge("rewrite", "retrieve")
    graph.add_edge("answer", END)
    return graph.compile()
