"""Services of memory systems for tests: a real HTTP server on loopback, with a memory that may misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs


class Service:
    """A memory over HTTP. `health` is what it says of itself; `replies` are sent in place of its own, by path."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self.stores: dict[str, list[dict[str, Any]]] = {}
        """What is kept by namespace, where one is given; the others are in `kept`."""
        self.asked: list[tuple[str, Any]] = []
        self.health: dict[str, Any] | None = {"ready": True}
        self.counts = True
        self.replies: dict[str, tuple[int, bytes]] = {}
        self.waits = threading.Event()
        self.slow: str | None = None
        self.busy: list[tuple[int, str]] = []
        """What the next requests are answered with in place of a reply: a status, and the `Retry-After`."""
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def reply(self, method: str, path: str, given: Any) -> tuple[int, bytes]:
        self.asked.append((f"{method} {path}", given))
        path, _, query = path.partition("?")
        named = (given or {}).get("namespace") or parse_qs(query).get("namespace", [""])[0]
        kept = self.stores.setdefault(named, []) if named else self.kept
        if path == self.slow:
            self.waits.wait(60)
        if path in self.replies:
            return self.replies[path]
        if path == "/health":
            if self.health is None:
                return 404, b"no such path"
            return 200, json.dumps({**self.health, **({"count": len(kept)} if self.counts else {})}).encode()
        if path == "/reset":
            kept.clear()
        elif path == "/store":
            kept.append(given)
        elif path == "/store_many":
            kept += given["units"]
        elif path == "/recall":
            words = set(given["query"].lower().split())
            best = sorted(kept, key=lambda one: -len(words & set(one["content"].lower().split())))
            passages = [{"text": one["content"], "source": one["metadata"].get("id"), "score": 0.5} for one in best]
            return 200, json.dumps({"passages": passages[: given["limit"]]}).encode()
        elif path == "/answer":
            return 200, json.dumps({"text": f"answer to {given['query']}"}).encode()
        elif path != "/finalize":
            return 404, b"no such path"
        return 200, b"{}"


@contextmanager
def serving(service: Service, port: int = 0) -> Iterator[Service]:
    """Serve on loopback until the block ends, on a free port if none is given."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # Else the body waits 40 ms for the acknowledgement of the headers.

        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

        def _answer(self, given: Any) -> None:
            service.headers.append({name.lower(): value for name, value in self.headers.items()})
            if service.busy:
                (status, after), body = service.busy.pop(0), b"busy"
                service.asked.append((f"busy {self.command} {self.path}", given))
            else:
                after = ""
                status, body = service.reply(self.command, self.path, given)
            try:
                self.send_response(status)
                if after:
                    self.send_header("retry-after", after)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # The client has given up.

        def log_message(self, *given: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.waits.set()
        server.shutdown()
        server.server_close()
        thread.join()
