"""A server on loopback that answers by the path of a request, byte for byte."""

from __future__ import annotations

import datetime
import functools
import gzip
import ipaddress
import json
import socket
import socketserver
import ssl
import threading
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import brotli
import pytest
import zstandard

EVENTS = [b"data: one\n\n", b"data: two\n", b"\ndata: three\n\n"]
ENCODINGS = {
    "gzip": functools.partial(gzip.compress, mtime=0),
    "br": brotli.compress,
    "zstd": zstandard.compress,
    "deflate": zlib.compress,
}


class Wire:
    """A server that answers by the path of a request, byte for byte, and counts them; by TLS with a `certificate`."""

    def __init__(self, certificate: Path | None = None) -> None:
        wire, self.count, self.connections = self, 0, 0

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self) -> None:
                wire.connections += 1
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
                    if detail == "cut" and method != "HEAD":
                        self.wfile.write(b"20\r\ndata: fo")
                    if detail in ("broken", "cut") and method != "HEAD":
                        return False
                    self.wfile.write(b"0\r\n\r\n" if method != "HEAD" else b"")
                    return True
                if kind == "short":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
                if kind == "until-end":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
                if kind == "no-http":
                    self.wfile.write(b"SSH-2.0 hello\r\n\r\n")
                if kind in ("slow", "slow-body", "slow-chunks"):
                    if kind == "slow-body":
                        head = f"HTTP/1.1 {detail or 200} Said\r\ncontent-length: 100\r\n\r\n"
                        self.wfile.write(head.encode() + b"part")
                    if kind == "slow-chunks":
                        self._say(200, None, "transfer-encoding: chunked", "content-type: text/event-stream")
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(EVENTS[0]), EVENTS[0]))
                    wire.over.wait(20)
                return False

        self.over = threading.Event()

        class Server(socketserver.ThreadingTCPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # A client has gone before the end, as it should.

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


class Proxy:
    """A proxy that passes on what it is asked, and opens tunnels; it counts both."""

    def __init__(self) -> None:
        proxy, self.count = self, 0

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                first = self.rfile.readline()
                method, target, _ = first.decode().split()
                proxy.count += 1
                if method == "CONNECT":
                    while self.rfile.readline().strip():
                        pass
                    host, _, port = target.partition(":")
                    with socket.create_connection((host, int(port))) as upstream:
                        self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                        self._pass_on(upstream)
                else:
                    place = urlsplit(target)
                    with socket.create_connection((place.hostname or "", place.port or 80)) as upstream:
                        upstream.sendall(first.replace(f"{place.scheme}://{place.netloc}".encode(), b""))
                        self._pass_on(upstream)

            def _pass_on(self, upstream: socket.socket) -> None:
                back = threading.Thread(target=self._copy, args=(upstream.makefile("rb"), self.wfile), daemon=True)
                back.start()
                self._copy(self.rfile, upstream.makefile("wb", buffering=0))
                upstream.shutdown(socket.SHUT_WR)
                back.join(5)

            def _copy(self, source: Any, target: Any) -> None:
                try:
                    while data := source.read1(65536):
                        target.write(data)
                except OSError:
                    pass

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def certified(folder: Path) -> Path:
    """Return a file with a key and a certificate for 127.0.0.1, which vouches for itself."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "wire")])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    kinds = encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "wire.pem"
    path.write_bytes(key.private_bytes(*kinds) + made.public_bytes(encoding))
    return path
