"""DSPy's loop of thoughts and tools, with the cache that DSPy has by default."""

# /// script
# dependencies = ["dspy"]
# [tool.check-frameworks]
# setups = ["argument"]
# cached = true
# fetches = ["https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json"]
# ///
from __future__ import annotations

import dspy
from given import PROMPT, SETUP, URL, page_of

ADDRESS = {"api_base": f"{URL}/v1"} if SETUP else {}
dspy.configure(lm=dspy.LM("openai/gpt-4o", **ADDRESS))
program = dspy.ReAct(dspy.Signature("question -> answer", PROMPT), tools=[page_of])


async def ask(question):
    return (await program.acall(question=question)).answer


def ask_sync(question):
    return program(question=question).answer


async def ask_streamed(question):
    return [said async for said in dspy.streamify(program)(question=question)][-1].answer
