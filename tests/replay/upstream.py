"""An upstream on the loopback device, recording from it, and replaying without it."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pytest_recall.models.rate_limiter import RateLimits
from pytest_recall.replay import sockets, watch
from pytest_recall.replay.cassette_file import Cassette, write_cassette
from pytest_recall.replay.exchange import Exchange
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.player import Player
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tape import CassetteMode, Tape

RULES = Rules()


class Upstream:
    """A server that counts its calls and says so in each answer."""

    def __init__(self) -> None:
        self.count = 0
        self.seen: list[dict[str, str]] = []
        self._lock = threading.Lock()
        upstream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # The body comes after the head, and would wait for its receipt.

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                with upstream._lock:
                    upstream.count += 1
                    number = upstream.count
                    upstream.seen.append({name.lower(): value for name, value in self.headers.items()})
                upstream.answer(self, body, number)

            do_GET = do_POST  # noqa: N815 - what http.server looks for

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes, number: int) -> None:
        """Answer by the path of the request."""
        path = handler.path.partition("?")[0]
        text = json.dumps({"number": number, "asked": body.decode("utf-8", "replace")}).encode()
        headers = {"content-type": "application/json", "x-request-id": f"req-{number}"}
        status = 200
        if path == "/busy" and number == 1:
            status, headers["retry-after"] = 429, "30"
        elif path == "/unavailable":
            status = 503
        elif path == "/broken":
            status = 500
        elif path == "/moved":
            status, headers["location"] = 302, "/there"
        elif path == "/gzip" and "gzip" in handler.headers.get("accept-encoding", ""):
            text, headers["content-encoding"] = gzip.compress(text), "gzip"
        elif path == "/dropped":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
            handler.close_connection = True
            return
        elif path == "/events":
            handler.send_response(200)
            handler.send_header("content-type", "text/event-stream")
            handler.send_header("transfer-encoding", "chunked")
            handler.end_headers()
            for event in (b"data: one\n\n", b"data: two\n\n"):
                handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                handler.wfile.flush()
            handler.wfile.write(b"0\r\n\r\n")
            return
        handler.send_response(status)
        for name, value in {**headers, "content-length": str(len(text))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text)

    def close(self) -> None:
        """Be gone: connections are refused from now on."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class Deck:
    """One cassette in a folder, to be recorded and replayed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "case.ndjson"
        self._draft = folder / "draft.ndjson"
        self.tape: Tape

    @contextmanager
    def recording(
        self, mode: CassetteMode = "record", ways: dict[str, Any] | None = None, limits: RateLimits | None = None
    ) -> Iterator[Player]:
        """Record what is called in this block."""
        with self._open(mode, ways, limits) as player:
            yield player
        write_cassette(self.path, {}, [*self.tape.served(), *self.tape.recorded()], RULES)
        self._draft.unlink(missing_ok=True)

    @contextmanager
    def replaying(self, ways: dict[str, Any] | None = None) -> Iterator[Player]:
        """Answer what is called in this block from the recording, without a socket."""
        with self._open("replay", ways) as player:
            yield player

    @contextmanager
    def _open(
        self, mode: CassetteMode, ways: dict[str, Any] | None, limits: RateLimits | None = None
    ) -> Iterator[Player]:
        player = Player(mode, ways)
        player.limits = limits
        cassette = Cassette(self.path, "case", RULES) if mode in ("replay", "missing") and self.path.exists() else None
        self.tape = Tape("case", mode, RULES, Redactor({}), "record it", cassette, self._draft)
        undo = watch.install(player)
        if mode == "replay":
            undo += sockets.guard(player)
        try:
            with player.playing(self.tape):
                yield player
        finally:
            self.tape.close()
            for back in reversed(undo):
                back()

    def calls(self) -> list[Exchange]:
        """Return what the cassette holds."""
        return list(Cassette(self.path, "case", RULES).exchanges())


def write(deck: Deck, *exchanges: Exchange) -> None:
    """Let `deck` have recorded these calls."""
    write_cassette(deck.path, {}, exchanges, RULES)
