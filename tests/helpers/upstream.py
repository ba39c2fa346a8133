"""An upstream on the loopback device: a scripted model behind the wire formats of OpenAI and Anthropic."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from typing import Any

from tests.helpers.loopback import Loopback

EVENTS = 6
"""Pieces of text in a streamed answer."""
DROPPED_AFTER = 3
"""Pieces after which a stream breaks off, where the prompt asks for that."""
PAUSE = 0.05
"""Seconds before the first event, where the prompt asks for that."""


class Upstream:
    """A server that gives each answer a number of its own, `#0001`, and does what the prompt asks for.

    The first word of the last message decides: `busy` is 429 with `retry-after: 3` the first
    time, `broken` always 500, `drop` breaks off in the middle of a stream, `hang` never
    answers, `slow` starts late, `wait` goes on after the first event when a prompt `go` has
    come, `held` waits for that as well, `comes` waits for `held` to come, `echo` gives the rest
    of the prompt back, `find` what its rest, a regular expression, finds in the messages before.
    If it is `allowed` so many requests in so many seconds, others are answered with 429, and
    counted in `refused`; the seconds are those of its `clock`. What it `says`, if anything, is
    each answer. Paths other than those of the two APIs are answered in JSON, by the first word
    of a field `prompt`.
    """

    def __init__(self) -> None:
        self.allowed: tuple[int, float] | None = None
        self.refused = 0
        self.says = ""
        self.clock: Callable[[], float] = time.monotonic
        self._arrivals: list[float] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self._times: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._go = threading.Event()
        self._held = threading.Event()
        self._server = Loopback(self._handle)
        self.url = self._server.url

    @property
    def count(self) -> int:
        """How many requests have come."""
        return len(self.bodies)

    @property
    def prompts(self) -> list[str]:
        """The prompts that have come, sorted."""
        return sorted(map(_prompt, self.bodies))

    def close(self) -> None:
        """Be gone: connections are refused from now on."""
        self._over.set()
        self._server.close()

    def _is_excess(self) -> bool:
        now = self.clock()
        self._arrivals.append(now)
        if self.allowed is None:
            return False
        times, seconds = self.allowed
        excess = sum(at > now - seconds for at in self._arrivals) > times
        self.refused += excess
        return excess

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("content-length", 0))
        data = handler.rfile.read(length)
        if len(data) < length:
            handler.close_connection = True
            return  # The client was killed while it sent its request: nothing was asked.
        try:
            body = json.loads(data)
        except ValueError:
            body = {"prompt": data.decode("utf-8", "replace")}
        prompt = _prompt(body)
        with self._lock:
            self.bodies.append(body)
            self.paths.append(handler.path)
            self.headers.append({name.lower(): value for name, value in handler.headers.items()})
            self._times[prompt] += 1
            number, time_ = len(self.bodies), self._times[prompt]
            excess = self._is_excess()
        handler.close_connection = True
        way, _, rest = prompt.partition(" ")
        if way == "go":
            self._go.set()
        if way == "comes":
            self._held.wait(10)
        if way == "held":
            self._held.set()
            self._go.wait(10)
        if excess:
            _answer(handler, 429, {"error": {"message": "too many", "type": "rate_limit"}}, {"retry-after": "0"})
        elif way == "hang":
            self._over.wait(30)
        elif way == "busy" and time_ == 1:
            _answer(handler, 429, {"error": {"message": "too many", "type": "rate_limit"}}, {"retry-after": "3"})
        elif way == "broken":
            _answer(handler, 500, {"error": {"message": f"broken by {rest}", "type": "server_error"}})
        else:
            text = rest if way == "echo" else f"#{number:04} to {prompt}"
            if way == "find":
                said = " ".join(str(message["content"]) for message in body["messages"][:-1])
                text = " ".join(re.findall(rest, said)) or "nothing is known of that"
            text = self.says or text
            script = _SCRIPTS.get(handler.path.partition("?")[0], _plain)
            events, whole = script(text, number, body)
            if isinstance(body, dict) and body.get("stream"):
                _stream(handler, events, way, self._go)
            elif way == "drop":
                _break_off(handler)
            else:
                _answer(handler, 200, whole, {"x-request-id": f"req-{number}"})


def _prompt(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    messages = body.get("messages")
    found = messages[-1]["content"] if messages else body.get("prompt", "")
    return found if isinstance(found, str) else str(found[-1].get("text", ""))


def _pieces(text: str) -> list[str]:
    cuts = [len(text) * place // EVENTS for place in range(EVENTS + 1)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _openai(text: str, number: int, body: Any) -> tuple[list[str], Any]:
    common = {"id": f"chatcmpl-{number}", "created": 1, "model": body["model"]}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}, *({"content": p} for p in _pieces(text))]
    chunks = [
        {**common, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in deltas
    ]
    message = {"role": "assistant", "content": text, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    whole = {**common, "object": "chat.completion", "choices": [choice], "usage": usage}
    return [*(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks), "data: [DONE]\n\n"], whole


def _anthropic(text: str, number: int, body: Any) -> tuple[list[str], Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    common = {"id": f"msg-{number}", "type": "message", "role": "assistant", "model": body["model"]}
    whole = {**common, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage}
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [{"index": 0, "delta": {"type": "text_delta", "text": piece}} for piece in _pieces(text)]
    events: list[tuple[str, dict[str, Any]]] = [
        ("message_start", {"message": {**common, "content": [], "stop_reason": None, "usage": usage}}),
        ("content_block_start", block),
        *(("content_block_delta", delta) for delta in deltas),
        ("content_block_stop", {"index": 0}),
        ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 5}}),
        ("message_stop", {}),
    ]
    return [f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events], whole


def _plain(text: str, number: int, body: Any) -> tuple[list[str], Any]:
    return [f"data: {piece}\n\n" for piece in _pieces(text)], {"number": number, "text": text}


_SCRIPTS = {"/v1/chat/completions": _openai, "/v1/messages": _anthropic}


def _answer(handler: BaseHTTPRequestHandler, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
    data = json.dumps(content).encode()
    handler.send_response(status)
    told = {"content-type": "application/json", "content-length": str(len(data)), "connection": "close"}
    for name, value in {**told, **(headers or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(data)


def _stream(handler: BaseHTTPRequestHandler, events: Iterable[str], way: str, go: threading.Event) -> None:
    handler.send_response(200)
    told = {"content-type": "text/event-stream", "transfer-encoding": "chunked", "connection": "close"}
    for name, value in told.items():
        handler.send_header(name, value)
    handler.end_headers()
    if way == "slow":
        time.sleep(PAUSE)
    for place, event in enumerate(events):
        if (way == "drop" and place == DROPPED_AFTER) or (way == "wait" and place == 1 and not go.wait(10)):
            _break_off(handler)
            return
        data = event.encode()
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        handler.wfile.flush()
    handler.wfile.write(b"0\r\n\r\n")


def _break_off(handler: BaseHTTPRequestHandler) -> None:
    with suppress(OSError):
        handler.connection.shutdown(socket.SHUT_RDWR)


def numbers(text: str) -> list[int]:
    """Return the numbers of the answers in `text`."""
    return [int(number) for number in re.findall(r"#(\d{4})", text)]


def running() -> Iterator[Upstream]:
    """Yield an upstream and end it: the body of a fixture."""
    upstream = Upstream()
    try:
        yield upstream
    finally:
        upstream.close()
