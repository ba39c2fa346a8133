"""Upstream: a model behind HTTP on loopback, which answers wrongly where it is told to, and now and then by chance."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

RIGHT, WRONG = "right", "wrong"
SPOILT = "Never mention {}."
"""What in a prompt spoils the answer to a case."""


class Upstream:
    """A model that is asked by the id of a case. A context manager.

    It answers wrongly to the cases in `broken`, to those that the system prompt spoils, and else with chance `flaky`:
    by the seed and by how often the case has been asked, so that it does not matter who comes first. `calls` counts.
    """

    def __init__(self, seed: int) -> None:
        self.broken: set[str] = set()
        self.flaky = 0.0
        self.calls = 0
        self._asked: Counter[str] = Counter()
        self._seed = seed
        self._lock = Lock()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # The body comes after the head, and would wait for its receipt.

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                system, user = (message["content"] for message in body["messages"])
                message = {"role": "assistant", "content": upstream.answer(system, user)}
                text = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port

    def __enter__(self) -> Upstream:
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, system: str, case_id: str) -> str:
        """Return the answer to a case."""
        with self._lock:
            self.calls += 1
            self._asked[case_id] += 1
            drawn = f"{self._seed}:{case_id}:{self._asked[case_id]}"
        chance = int.from_bytes(sha256(drawn.encode()).digest()[:8]) / 2**64
        is_wrong = case_id in self.broken or SPOILT.format(case_id) in system or chance < self.flaky
        return WRONG if is_wrong else RIGHT
