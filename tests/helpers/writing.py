"""A model on the loopback device that writes entries: what it says follows from what it is asked."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.helpers.loopback import Loopback


class Writing:
    """The server. Requests from the `hold`-th on wait until `release` and come to nothing.

    Whose prompt has a text of `broken` in it is answered with 400, of `cut` as if at the limit of tokens.
    `answered` counts how often each prompt got a reply.
    """

    def __init__(self) -> None:
        self.hold: int | None = None
        self.broken: set[str] = set()
        self.cut: set[str] = set()
        self.answered: Counter[str] = Counter()
        self.prompts: list[tuple[str, str]] = []
        self.held = threading.Event()
        self._go = threading.Event()
        self._lock = threading.Lock()
        self._server = Loopback(self._handle)
        self.selector = f"openai:scripted;{self._server.url}/v1"

    def release(self) -> None:
        """Let go of requests that are held, without a reply, and answer the next ones."""
        self.hold = None
        self._go.set()

    def close(self) -> None:
        """Be gone."""
        self._go.set()
        self._server.close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        system, user = (str(one["content"]) for one in body["messages"])
        handler.close_connection = True
        with self._lock:
            self.prompts.append((system, user))
            held = self.hold is not None and len(self.prompts) >= self.hold
        if held:
            self.held.set()
            self._go.wait(60)
            return
        if any(text in user for text in self.broken):
            _answer(handler, 400, {"error": {"message": "it is broken", "type": "invalid_request_error"}})
            return
        with self._lock:
            self.answered[user] += 1
        mark = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()
        stop = "length" if any(text in user for text in self.cut) else "stop"
        message = {"role": "assistant", "content": f"### Notes — {mark[:8]}\n\nAll of it was {mark}.", "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": stop, "logprobs": None}
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        whole = {"id": "1", "created": 1, "model": "scripted", "object": "chat.completion"}
        _answer(handler, 200, {**whole, "choices": [choice], "usage": usage})


def _answer(handler: BaseHTTPRequestHandler, status: int, content: Any) -> None:
    data = json.dumps(content).encode()
    handler.send_response(status)
    for name, value in (
        ("content-type", "application/json"),
        ("content-length", str(len(data))),
        ("connection", "close"),
    ):
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def writing() -> Iterator[Writing]:
    """Yield a server and end it: the body of a fixture."""
    server = Writing()
    try:
        yield server
    finally:
        server.close()
