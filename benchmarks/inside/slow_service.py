"""A memory over HTTP that takes a time for each call, keeps stores apart by a name, and may take batches.

slow_service.py SECONDS BATCHES; it prints its port. It waits as long as a call takes, so that calls at once cost no
more.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

SECONDS, BATCHES = float(sys.argv[1]), int(sys.argv[2])
STORES: dict[str, list[dict[str, Any]]] = {}


class Handler(BaseHTTPRequestHandler):
    """Answers with the newest texts: what is measured is the waiting."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        name = parse_qs(urlsplit(self.path).query).get("namespace", [""])[0]
        health = {"ready": True, "namespaces": True, "count": len(STORES.get(name, ()))}
        self._reply({**health, "batches": BATCHES} if BATCHES else health)

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kept = STORES.setdefault(given.get("namespace", ""), [])
        if self.path == "/reset":
            kept.clear()
        elif self.path == "/store":
            kept.append(given)
        elif self.path == "/store_many":
            kept += given["units"]
        newest = kept[-given["limit"] :] if self.path == "/recall" else []
        self._reply({"passages": [{"text": one["content"], "source": one["metadata"]["id"]} for one in newest]})

    def _reply(self, plain: dict[str, Any]) -> None:
        time.sleep(SECONDS)
        body = json.dumps(plain).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *given: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
