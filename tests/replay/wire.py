"""A server on loopback that answers by the path of a request, byte for byte."""

from __future__ import annotations

import functools
import gzip
import json
import socketserver
import threading
import zlib

import brotli
import zstandard

EVENTS = [b"data: one\n\n", b"data: two\n", b"\ndata: three\n\n"]
ENCODINGS = {
    "gzip": functools.partial(gzip.compress, mtime=0),
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "deflate": zlib.compress,
}


class Wire:
    """A server that answers by the path of a request, byte for byte, and counts them."""

    def __init__(self) -> None:
        wire, self.count = self, 0

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self) -> None:
                while line := self.rfile.readline().decode():
                    method, path, _ = line.split()
                    headers = {}
                    while (header := self.rfile.readline().decode().strip()) != "":
                        name, _, value = header.partition(": ")
                        headers[name.lower()] = value
                    body = self._body(headers)
                    wire.count += 1
                    if not self._answer(method, path.partition("?")[0], headers, body):
                        return

            def _body(self, headers: dict[str, str]) -> bytes:
                if headers.get("expect"):
                    self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                if headers.get("transfer-encoding") != "chunked":
                    return self.rfile.read(int(headers.get("content-length", 0)))
                pieces = []
                while size := int(self.rfile.readline(), 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(pieces)

            def _say(self, status: int, body: bytes | None, *lines: str, head: bool = False) -> bool:
                length = [] if body is None else [f"content-length: {len(body)}"]
                said = "\r\n".join([f"HTTP/1.1 {status} Said", "x-request-id: 7", *length, *lines, "", ""])
                self.wfile.write(said.encode())
                if not head:
                    self.wfile.write(body or b"")
                return True

            def _answer(self, method: str, path: str, headers: dict[str, str], body: bytes) -> bool:
                kind, _, detail = path.strip("/").partition("/")
                if kind == "moved":
                    return self._say(int(detail), b"gone", "location: /echo", "set-cookie: a=b", head=method == "HEAD")
                if kind == "echo":
                    said = [method, body.decode("latin-1"), headers.get("content-type", "").partition(";")[0]]
                    return self._say(200, json.dumps(said).encode(), head=method == "HEAD")
                if kind == "status":
                    return self._say(int(detail), None if detail in ("204", "304") else b"{}", head=method == "HEAD")
                if kind == "encoded":
                    return self._say(
                        200, ENCODINGS[detail](b"said " * 99), f"content-encoding: {detail}", head=method == "HEAD"
                    )
                if kind == "chunked":
                    self._say(200, None, "transfer-encoding: chunked", "content-type: text/event-stream")
                    for event in EVENTS if method != "HEAD" else ():
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                    if detail == "broken" and method != "HEAD":
                        return False
                    self.wfile.write(b"0\r\n\r\n" if method != "HEAD" else b"")
                    return True
                if kind == "short":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
                if kind == "until-end":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
                if kind == "no-http":
                    self.wfile.write(b"SSH-2.0 hello\r\n\r\n")
                if kind in ("slow", "slow-body"):
                    if kind == "slow-body":
                        head = f"HTTP/1.1 {detail or 200} Said\r\ncontent-length: 100\r\n\r\n"
                        self.wfile.write(head.encode() + b"part")
                    wire.over.wait(20)
                return False

        self.over = threading.Event()

        class Server(socketserver.ThreadingTCPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # A client has gone before the end, as it should.

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
