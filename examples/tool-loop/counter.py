"""The agent: the counter of a hardware shop, a model in a loop with three tools."""

from __future__ import annotations

import json
import os
from typing import Any

from openai import OpenAI

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
SYSTEM = (
    "You serve at the counter of a hardware shop. Look things up with the tools and never guess. "
    "Order only if the customer asks you to. Answer in one short sentence."
)
SHELF = {"hinge": (40, 4.20), "hammer": (3, 18.50), "padlock": (0, 12.00), "paint brush": (25, 3.75)}
"""How many there are of each item, and what one costs in euros."""
ITEM = {"item": {"type": "string", "enum": list(SHELF)}}
COUNT = {"quantity": {"type": "integer", "minimum": 1}}
STEPS = 5


def _tool(name: str, description: str, **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TOOLS = [
    _tool("stock", "How many of an item are on the shelf now.", **ITEM),
    _tool("price", "What a quantity of an item costs, in euros.", **ITEM, **COUNT),
    _tool("order", "Order an item for the customer. This is binding.", **ITEM, **COUNT),
]


class Counter:
    """Asks the model, does what it calls for, and asks again, until it answers."""

    def __init__(self) -> None:
        self._client = OpenAI()

    def answer(self, question: str) -> dict[str, Any]:
        """Return the answer, and as its passages the calls of tools that led to it."""
        messages: list[Any] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}]
        called: list[dict[str, str]] = []
        for _ in range(STEPS):
            completion = self._client.chat.completions.create(
                model=MODEL, messages=messages, tools=TOOLS, temperature=0, max_tokens=120
            )
            said = completion.choices[0].message
            if not said.tool_calls:
                return {"text": said.content or "", "passages": called}
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls:
                name, arguments = call.function.name, json.loads(call.function.arguments)
                result = use(name, **arguments)
                called.append({"source": name, "text": json.dumps({"arguments": arguments, "result": result})})
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return {"text": f"I have found no answer in {STEPS} steps.", "passages": called}


def use(name: str, item: str, quantity: int = 1) -> str:
    """Do what a tool does, and say it."""
    count, price = SHELF[item]
    if name == "stock":
        return f"{count} on the shelf"
    if name == "price":
        return f"{quantity * price:.2f} euros"
    return f"ordered {quantity} of {item}" if count >= quantity else f"not ordered: only {count} on the shelf"
