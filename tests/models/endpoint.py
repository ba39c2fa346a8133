"""An endpoint on the loopback device that gives the answers it was told, one after the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.helpers.upstream import Upstream


class Answer(NamedTuple):
    """What is answered: a status, a body (JSON, unless it is bytes), headers. A status of 0 hangs up."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = {}  # noqa: RUF012 - it is not changed


class Asked(NamedTuple):
    """What has come."""

    path: str
    headers: dict[str, str]
    body: Any


Script = Answer | Callable[[Asked], Answer]


class Endpoint(Upstream):
    """Gives the answers of its script, and the last one for ever; `asked` is what has come."""

    def __init__(self, *script: Script) -> None:
        super().__init__()
        self.script = list(script)
        self.asked: list[Asked] = []

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        data = handler.rfile.read(int(handler.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        is_file = headers.get("content-type", "").startswith("multipart/")
        asked = Asked(handler.path, headers, json.loads(data) if data and not is_file else None)
        handler.close_connection = True
        with self._lock:
            self.asked.append(asked)
            script = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        answer = script if isinstance(script, Answer) else script(asked)
        if not answer.status:
            return
        body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        handler.send_response(answer.status)
        told = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        for name, value in {**told, **answer.headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def hang(self, asked: Asked) -> Answer:
        """Answer only when everything is over."""
        self._over.wait(30)
        return Answer(0)


@contextmanager
def endpoint(*script: Script) -> Iterator[Endpoint]:
    """Run an endpoint."""
    one = Endpoint(*script)
    try:
        yield one
    finally:
        one.close()


def chat(text: str | None = "hello", finish: str = "stop", **more: Any) -> Answer:
    """Return a chat completion."""
    message = {"role": "assistant", "content": text, **more}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Answer(200, {"id": "1", "object": "chat.completion", "model": "m-2026", "choices": [choice], "usage": usage})


def message(text: str = "hello", stop: str = "end_turn") -> Answer:
    """Return a message of Anthropic's API, after a block of thoughts."""
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 6, "output_tokens": 5, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 0}
    about = {"id": "1", "type": "message", "role": "assistant", "model": "c-2026"}
    return Answer(200, {**about, "content": content, "stop_reason": stop, "usage": usage})


def failure(status: int, text: str = "no", code: str | None = None, **headers: str) -> Answer:
    """Return an error in OpenAI's shape; `_` in the name of a header stands for `-`."""
    error = {"message": text, "type": "error", "param": None, "code": code}
    return Answer(status, {"error": error}, {name.replace("_", "-"): value for name, value in headers.items()})
