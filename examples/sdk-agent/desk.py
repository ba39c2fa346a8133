"""The agent: the desk of a bicycle workshop, with Anthropic's SDK and nothing else."""

from __future__ import annotations

import os
from typing import Any

from anthropic import Anthropic

MODEL = os.environ.get("MODEL", "qwen2.5-coder-1.5b-instruct")
SYSTEM = """\
You answer at the desk of the bicycle workshop Spoke and Chain, in one short sentence.
Prices: new tube 15 euros, brake pads 18 euros a wheel, chain 32 euros, full service 79 euros, \
full service of an e-bike 109 euros.
Open Tuesday to Friday from 9:00 to 18:00, Saturday from 10:00 to 14:00, closed on Sunday and Monday.
A full service takes two days, anything else is done while you wait.
If this does not hold the answer, say exactly: I will ask the workshop."""


class Desk:
    """Answers a question or goes on with a conversation, streaming."""

    def __init__(self) -> None:
        self._client = Anthropic()  # ANTHROPIC_BASE_URL and ANTHROPIC_API_KEY, as everywhere.

    def answer(self, question: str | list[dict[str, str]]) -> dict[str, Any]:
        """Return the answer with the tokens that it took."""
        messages = [{"role": "user", "content": question}] if isinstance(question, str) else question
        with self._client.messages.stream(
            model=MODEL, system=SYSTEM, messages=messages, max_tokens=60, extra_body={"temperature": 0}
        ) as stream:
            text = "".join(stream.text_stream)
            usage = stream.get_final_message().usage
        return {"text": text, "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}}
