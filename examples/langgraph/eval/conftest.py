"""The system under test: the graph, with the notes that it found as passages."""

from __future__ import annotations

import os

import pytest
from guide import NOTES, guide

# The recordings are of this address. In a replay nothing is there, and nothing needs to be.
os.environ["OPENAI_BASE_URL"] = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
os.environ.setdefault("OPENAI_API_KEY", "none-needed")
# Whoever has LangSmith's tracing on would send each run of the graph there.
os.environ["LANGSMITH_TRACING"] = "false"


@pytest.fixture(scope="session")
def agent():
    """The guide; async, so that cases can run at once."""
    graph = guide()

    async def answer(question):
        state = await graph.ainvoke({"question": question})
        passages = [{"source": name, "text": NOTES[name]} for name in state["found"]]
        return {"text": state["answer"], "passages": passages}

    return answer
