"""A scripted chat model on the loopback device: what it answers is a matter of the request and of its mode alone."""

from __future__ import annotations

import gzip
import json
import random
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.helpers.loopback import Loopback

PRICE = 5
"""US dollars that each item costs more than the one before it."""
REFUSED = "I cannot say."
VARIANT_B = "variant-b"
"""Anywhere in a request but in the question it chooses a worse model, which refuses the items below."""
WORSE_AT = (7, 8, 9)
INPUT_TOKENS, OUTPUT_TOKENS = 1000, 20
KEY = "sk-live-000000000000000000000000"
"""The key of the provider, which jobs of forks do not have."""

_ITEM = re.compile(r"item (\d+)")
_REFUSES = re.compile(r"Refuse items (\d+) to (\d+)\.")


class Chat(NamedTuple):
    """What a request asks: its system prompt and question, the model, and all else in it that is no question."""

    system: str
    question: str
    model: str = "m-1"
    temperature: float = 0
    rest: str = ""


class Call(NamedTuple):
    """A request that has come: its path, the headers by lower-case names, what it asks, and if it was answered."""

    path: str
    headers: Mapping[str, str]
    chat: Chat
    answered: bool


@dataclass
class Mode:
    """How the model is today; a new one is a good day.

    `status` is the error that each request is answered with, 0 for none. `refuses` are items that it does not know
    any more, and `coin` is the chance by item that an answer is useless. `weaker` are names of models that do not
    know each tenth item. `needs_key` has it refuse requests without the key. A response takes `delay` seconds.
    On a `lucky` day it knows everything, whatever the prompt says.
    """

    status: int = 0
    refuses: frozenset[int] = frozenset()
    coin: Mapping[int, float] = field(default_factory=dict)
    weaker: frozenset[str] = frozenset()
    needs_key: bool = False
    delay: float = 0
    lucky: bool = False


def expected(item: int) -> str:
    """Return what a good answer about an item contains."""
    return f"${item * PRICE}"


def good_answer(item: int) -> str:
    """Return the answer to a question about an item that is known."""
    return f"The price of item {item} is {expected(item)}."


def item_of(question: str) -> int:
    """Return the item that a question is about, 0 for none."""
    numbers = _ITEM.findall(question)
    return int(numbers[-1]) if numbers else 0


class ScriptedModel:
    """The model, from now until it is closed.

    It says the price of the item that is asked for. It refuses items that the system prompt forbids ("Refuse items 7
    to 9."), all of them where returns are taken "within 3 days" or the prompt ends with an empty line, and some as
    `VARIANT_B`. Its coin is thrown by `seed`.
    """

    def __init__(self, seed: int = 1) -> None:
        self.mode = Mode()
        self.calls: list[Call] = []
        self._draw = random.Random(seed)
        self._lock = threading.Lock()
        self._server = Loopback(self._handle)
        self.url = self._server.url

    def close(self) -> None:
        """Be gone: connections are refused from now on."""
        self._server.close()

    def answer(self, chat: Chat) -> str:
        """Return what it answers in its mode, without the coin."""
        item = item_of(chat.question)
        refused = {*self.mode.refuses}
        for first, last in _REFUSES.findall(chat.system):
            refused.update(range(int(first), int(last) + 1))
        if VARIANT_B in f"{chat.system}\n{chat.model}\n{chat.rest}":
            refused.update(WORSE_AT)
        if chat.model in self.mode.weaker and item % 10 == 0:
            refused.add(item)
        hopeless = "within 3 days" in chat.system or chat.system.endswith("\n\n") or chat.temperature > 1.5
        refuses = (hopeless or item in refused) and not self.mode.lucky
        return REFUSED if refuses else good_answer(item)

    def knows(self, chat: Chat) -> bool:
        """Whether the answer to a question about an item is the right one."""
        return expected(item_of(chat.question)) in self.answer(chat)

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        chat = _chat_of(handler.path, headers, body)
        with self._lock:
            refused = self.mode.needs_key and headers.get("authorization") != f"Bearer {KEY}"
            self.calls.append(Call(handler.path, headers, chat, not refused and not self.mode.status))
            useless = self._draw.random() < self.mode.coin.get(item_of(chat.question), 0)
        if self.mode.delay:
            time.sleep(self.mode.delay)
        if refused:
            _reply(handler, 401, {"error": {"message": "invalid api key", "type": "authentication_error"}})
        elif self.mode.status:
            _reply(handler, self.mode.status, {"error": {"message": "overloaded", "type": "server_error"}})
        else:
            _reply(handler, 200, _completion(chat, REFUSED if useless else self.answer(chat)))


def _chat_of(path: str, headers: Mapping[str, str], body: bytes) -> Chat:
    if headers.get("content-encoding") == "gzip":
        body = gzip.decompress(body)
    kind = headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        form = message_from_bytes(f"content-type: {kind}\r\n\r\n".encode() + body)
        parts = [part.get_payload(decode=True) for part in form.walk() if not part.is_multipart()]
        body = next(part for part in parts if isinstance(part, bytes) and part.startswith(b"{"))
    plain: dict[str, Any] = json.loads(body) if body else {}
    messages = plain.pop("messages", [])
    rest = [path, json.dumps(plain), *(f"{name}: {value}" for name, value in headers.items())]
    return Chat(
        system=" ".join(one["content"] for one in messages if one["role"] == "system"),
        question=messages[-1]["content"] if messages else "",
        model=plain.get("model", ""),
        temperature=plain.get("temperature", 0),
        rest="\n".join(rest),
    )


def _completion(chat: Chat, answer: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer}
    tokens = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": chat.model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {**tokens, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS},
    }


def _reply(handler: BaseHTTPRequestHandler, status: int, content: Any) -> None:
    body = json.dumps(content).encode()
    handler.send_response(status)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
