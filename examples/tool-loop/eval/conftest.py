"""The system under test, and the judge of what it calls."""

from __future__ import annotations

import json
import os

import pytest
from counter import Counter

# The recordings are of this address. In a replay nothing is there, and nothing needs to be.
os.environ["OPENAI_BASE_URL"] = os.environ.get("MODEL_URL", "http://127.0.0.1:18080") + "/v1"
os.environ.setdefault("OPENAI_API_KEY", "none-needed")


@pytest.fixture(scope="session")
def agent():
    """The counter of the shop."""
    return Counter().answer


@pytest.fixture(scope="session")
def judge_calls():
    """Pass if the tools of `expected` were called, in this order and with these arguments, and none of `never`.

    `{calls: [{tool: stock, item: hinge}]}`; arguments that are not named may be anything, and other calls may lie
    between. An empty list means that no tool may be called at all.
    """

    def judge(answer, case, *, expected=None, never=()):
        made = [{"tool": p.source, **json.loads(p.text)["arguments"]} for p in answer.passages]
        shown = "; ".join(json.dumps(call) for call in made) or "nothing"
        if expected == [] and made:
            return False, f"called {shown}, where no tool is needed"
        if wrong := [call for call in made if call["tool"] in never]:
            return False, f"called {json.dumps(wrong[0])}, which it may not"
        rest = iter(made)
        for wanted in expected or ():
            if not any(wanted.items() <= call.items() for call in rest):
                return False, f"no call {json.dumps(wanted)} in its place among: {shown}"
        return True

    return judge
