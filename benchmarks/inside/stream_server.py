"""A model on the loopback device that streams slowly; prints its port, and ends with its standard input."""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EVENTS = 24
BEFORE, BETWEEN = 0.02, 0.005
"""Seconds before the first event and between two: who waits for the end comes a tenth of a second late."""


class Handler(BaseHTTPRequestHandler):
    """Answers every request with the same events, one chunk each."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        time.sleep(BEFORE)
        for number in range(EVENTS):
            self._chunk(f"data: {json.dumps(_event(number))}\n\n".encode())
            time.sleep(BETWEEN)
        self._chunk(b"data: [DONE]\n\n")
        self._chunk(b"")
        self.close_connection = True  # The client may have gone without reading the last chunk.

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        pass


def _event(number: int) -> dict[str, object]:
    choice = {"index": 0, "delta": {"content": f"word{number} "}, "finish_reason": None}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
