"""A judging model on the loopback device, which gives all six points."""

from __future__ import annotations

import json
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.helpers.loopback import Loopback

SCORES = {"correctness": 3, "completeness": 2, "hallucination": 1}


class Grader:
    """The server; `bodies` are what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.waits = 0.0
        self._server = Loopback(self._handle)
        self.selector = f"{self._server.url}/v1#grader"

    def close(self) -> None:
        """Be gone."""
        self._server.close()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["content-length"])))
        self.bodies.append(body)
        time.sleep(self.waits)
        text = json.dumps({"reasoning": "It says so.", "scores": SCORES})
        message = {"role": "assistant", "content": text, "refusal": None}
        whole = {
            "id": "1",
            "created": 1,
            "model": body["model"],
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
        data = json.dumps(whole).encode()
        handler.send_response(200)
        for name, value in {"content-type": "application/json", "content-length": str(len(data))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)
