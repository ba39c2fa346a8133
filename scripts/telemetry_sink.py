"""Where all connections of a process end that would leave this machine: a server on loopback that counts them.

`WAY_OUT` is what a process has to run at its start, as its `sitecustomize`. It is below whatever a plugin of pytest
patches, and raises the audit events of the functions that it replaces, so that what it notes has passed that plugin.
"""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ELSEWHERE = "127.9.9.9"
"""The address that each name of another machine is given; connections to it are led to the sink."""

WAY_OUT = '''\
"""Lead what would leave this machine to the sink, and note it."""
import json, os, socket, sys

SINK, NOTES = os.environ.get("RECALL_SINK"), os.environ.get("RECALL_SINK_NOTES")
HERE = ("", "localhost", "127.0.0.1", "::1", "0.0.0.0", "::", "ELSEWHERE")


def note(how, host, port):
    line = json.dumps([how, host, port, os.getpid()]) + "\\n"
    with open(NOTES, "a") as file:
        file.write(line)


def install():
    resolve = socket.getaddrinfo

    def getaddrinfo(host, port, family=0, type=0, proto=0, flags=0):
        name = host.decode() if isinstance(host, bytes) else host
        if name is None or name.lower() in HERE or name.lower() == socket.gethostname().lower():
            return resolve(host, port, family, type, proto, flags)
        sys.audit("socket.getaddrinfo", host, port, family, type, proto)
        note("name", name, port)
        number = port if isinstance(port, int) else {"http": 80, "https": 443}.get(port, 0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("ELSEWHERE", number))]

    def led(original):
        def connect(self, address):
            if self.family in (socket.AF_INET, socket.AF_INET6):
                if address[0] == "ELSEWHERE" or not address[0].startswith(("127.", "::1", "localhost")):
                    sys.audit("socket.connect", self, address)
                    if self.type & 0xF == socket.SOCK_STREAM:
                        note("connection", address[0], address[1])
                    address = ("127.0.0.1", int(SINK))
            return original(self, address)

        return connect

    socket.getaddrinfo = getaddrinfo
    socket.socket.connect = led(socket.socket.connect)
    socket.socket.connect_ex = led(socket.socket.connect_ex)


if SINK and NOTES:
    install()
'''.replace("ELSEWHERE", ELSEWHERE)


class Sink(ThreadingHTTPServer):
    """Answers all that would leave, with and without TLS: 404 to what fetches, `{}` to what sends."""

    daemon_threads = True

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder, self.had = folder, Counter[str]()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2"
        self._openssl(*make.split(), "-subj", "/CN=sink", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.sni_callback = self._named

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a process that is led here."""
        trusted = str(self.folder / "ca.pem")
        found = {"RECALL_SINK": str(self.server_address[1]), "RECALL_SINK_NOTES": str(self.folder / "notes")}
        return found | {"SSL_CERT_FILE": trusted, "REQUESTS_CA_BUNDLE": trusted}

    def noted(self) -> list[str]:
        """Return the hosts that were looked up or connected to since the last time, each time that one was."""
        notes = self.folder / "notes"
        lines = notes.read_text().splitlines() if notes.exists() else []
        notes.unlink(missing_ok=True)
        return [str(host) for _, host, *_ in map(json.loads, lines) if host != ELSEWHERE]

    def get_request(self) -> tuple[Any, Any]:
        """Accept a connection; the handshake of TLS is left to its thread."""
        taken, address = super().get_request()
        taken.settimeout(30)
        return taken, address

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Speak TLS to those who begin with it."""
        with suppress(OSError):
            if request.recv(1, socket.MSG_PEEK) != b"\x16":
                super().finish_request(request, client_address)
                return
            with self._tls.wrap_socket(request, server_side=True) as secured:
                super().finish_request(secured, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Be silent of a client that leaves."""

    def _named(self, taken: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        with self._lock:
            if (host := name or "sink") not in self._contexts:
                self._contexts[host] = self._certified(host, len(self._contexts))
            taken.context = self._contexts[host]

    def _certified(self, host: str, number: int) -> ssl.SSLContext:
        make = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout {number}.key -out {number}.pem"
        made = ("-days", "2", "-CA", "ca.pem", "-CAkey", "ca.key", "-subj", "/CN=sink")
        # Python 3.13 and later are strict: one that may sign others has to say so, and this one may not.
        limits = ("-addext", "basicConstraints=critical,CA:FALSE", "-addext", "keyUsage=critical,digitalSignature")
        self._openssl(*make.split(), *made, "-addext", f"subjectAltName=DNS:{host}", *limits)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{number}.pem", self.folder / f"{number}.key")
        return context

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


class Handler(BaseHTTPRequestHandler):
    """Answers a request that would have left."""

    server: Sink
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take what is sent."""
        left = int(self.headers.get("content-length", 0))
        while left > 0 and (piece := self.rfile.read(min(left, 1 << 16))):
            left -= len(piece)
        self.answer(200)

    def do_PUT(self) -> None:
        """Take what is sent."""
        self.do_POST()

    def do_PATCH(self) -> None:
        """Take what is sent."""
        self.do_POST()

    def do_GET(self) -> None:
        """Have nothing to fetch."""
        self.answer(404)

    def answer(self, status: int) -> None:
        """Count the request, and answer it."""
        route = self.path.partition("?")[0]
        self.server.had[f"{self.command} {self.headers.get('host', '')}{route}"] += 1
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Be silent."""


@contextmanager
def telemetry_sink(folder: Path) -> Iterator[Sink]:
    """Serve the sink, with its certificates in `folder`."""
    folder.mkdir(parents=True)
    with Sink(folder) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()
