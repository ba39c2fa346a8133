"""The assistant that reads: a language model answers over the passages that the retriever found.

Two wire formats, each through its vendor's SDK and each whole or streamed. The SDKs are imported when a model is
built, so that the cases that only retrieve need none.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from assistant import Assistant

from pytest_recall import Answer, Passage

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionMessageParam

__all__ = ["AnthropicReader", "OpenAIReader", "Question"]

Question = str | Sequence[Mapping[str, str]]
"""A question, or a conversation that ends with one."""

MODEL = "qwen2.5-coder-1.5b-instruct"
SYSTEM = (
    "You answer for the Fernhill Tool Library, in one short sentence. "
    "Use only the handbook passages given with the question and what was said in the conversation. "
    "If they do not hold the answer, say exactly: I could not find that in the handbook."
)
_PASSAGES, _MAX_TOKENS, _TIMEOUT = 3, 60, 120.0
# llama.cpp's server drops a connection after a stream without saying so first, and what comes next on it fails. With a
# connection for each request nothing is left to close at the end, either.
_HEADERS = {"Connection": "close"}


def upstream() -> str:
    """Where the model is served, without the path of a wire format."""
    return os.environ.get("FERNHILL_MODEL_URL", "http://127.0.0.1:18080").rstrip("/")


@dataclass(frozen=True)
class Prompt:
    """What a model is asked: the conversation, its last question under the passages found for it."""

    messages: list[dict[str, str]]
    passages: tuple[Passage, ...]

    @classmethod
    def of(cls, question: Question, retriever: Assistant) -> Prompt:
        """Only the last message carries passages: the ones before it stay as they were said."""
        said = [{"role": "user", "content": question}] if isinstance(question, str) else [dict(m) for m in question]
        found = retriever(question).passages[:_PASSAGES]
        shown = "\n\n".join(passage.text for passage in found) or "(nothing found)"
        last = {"role": "user", "content": f"Handbook:\n{shown}\n\nQuestion: {said[-1]['content']}"}
        return cls([*said[:-1], last], tuple(Passage(text=p.text, source=p.source, score=p.score) for p in found))

    def answered(self, text: str, tokens: tuple[int, int] | None) -> Answer:
        """The answer with its passages and, where the upstream counted, the tokens it read and wrote."""
        usage = {} if tokens is None else {"input_tokens": tokens[0], "output_tokens": tokens[1]}
        return Answer(text=text.strip(), passages=self.passages, usage=usage)


class OpenAIReader:
    """Answers through OpenAI's chat completions, with the sync client."""

    def __init__(self, retriever: Assistant) -> None:
        from openai import OpenAI

        key = os.environ.get("OPENAI_API_KEY") or "none-needed"
        self._retriever = retriever
        self._client = OpenAI(
            base_url=f"{upstream()}/v1", api_key=key, max_retries=0, timeout=_TIMEOUT, default_headers=_HEADERS
        )

    def whole(self, question: Question) -> Answer:
        """Answer in one piece."""
        prompt = Prompt.of(question, self._retriever)
        completion = self._client.chat.completions.create(
            model=MODEL, messages=_with_system(prompt), max_tokens=_MAX_TOKENS, temperature=0
        )
        return prompt.answered(completion.choices[0].message.content or "", _counted(completion.usage))

    def streamed(self, question: Question) -> Answer:
        """Answer piece by piece; the last chunk has no text, but the usage."""
        prompt = Prompt.of(question, self._retriever)
        text, usage = "", None
        with self._client.chat.completions.create(
            model=MODEL,
            messages=_with_system(prompt),
            max_tokens=_MAX_TOKENS,
            temperature=0,
            stream=True,
            stream_options={"include_usage": True},
        ) as chunks:
            for chunk in chunks:
                text += "".join(choice.delta.content or "" for choice in chunk.choices)
                usage = chunk.usage or usage
        return prompt.answered(text, _counted(usage))


class AnthropicReader:
    """Answers through Anthropic's messages, with the async client."""

    def __init__(self, retriever: Assistant) -> None:
        from anthropic import AsyncAnthropic

        key = os.environ.get("ANTHROPIC_API_KEY") or "none-needed"
        self._retriever = retriever
        self._client = AsyncAnthropic(
            base_url=upstream(), api_key=key, max_retries=0, timeout=_TIMEOUT, default_headers=_HEADERS
        )

    async def whole(self, question: Question) -> Answer:
        """Answer in one piece."""
        prompt = Prompt.of(question, self._retriever)
        message = await self._client.messages.create(
            model=MODEL,
            system=SYSTEM,
            messages=cast("list[MessageParam]", prompt.messages),
            max_tokens=_MAX_TOKENS,
            extra_body={"temperature": 0},
        )
        return _said(prompt, message)

    async def streamed(self, question: Question) -> Answer:
        """Answer event by event."""
        prompt = Prompt.of(question, self._retriever)
        async with self._client.messages.stream(
            model=MODEL,
            system=SYSTEM,
            messages=cast("list[MessageParam]", prompt.messages),
            max_tokens=_MAX_TOKENS,
            extra_body={"temperature": 0},
        ) as events:
            return _said(prompt, await events.get_final_message())


def _with_system(prompt: Prompt) -> list[ChatCompletionMessageParam]:
    return cast("list[ChatCompletionMessageParam]", [{"role": "system", "content": SYSTEM}, *prompt.messages])


def _counted(usage: CompletionUsage | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.prompt_tokens, usage.completion_tokens)


def _said(prompt: Prompt, message: Message) -> Answer:
    text = "".join(block.text for block in message.content if block.type == "text")
    return prompt.answered(text, (message.usage.input_tokens, message.usage.output_tokens))
