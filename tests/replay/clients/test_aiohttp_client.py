"""aiohttp, bare against a server on loopback, recorded, and replayed when that is gone: all three are the same."""

from __future__ import annotations

import asyncio
import functools
import gzip
import itertools
import json
import socketserver
import threading
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import brotli
import pytest
import zstandard

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import STORED_RESPONSE
from tests.replay.upstream import Deck

aiohttp = pytest.importorskip("aiohttp")

EVENTS = [b"data: one\n\n", b"data: two\n", b"\ndata: three\n\n"]
ENCODINGS = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstandard.compress, "deflate": zlib.compress}


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
                    return self._say(200, ENCODINGS[detail](b"said " * 99), f"content-encoding: {detail}")
                if kind == "chunked":
                    self._say(200, None, "transfer-encoding: chunked", "content-type: text/event-stream")
                    for event in EVENTS:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
                    if detail == "broken":
                        return False
                    self.wfile.write(b"0\r\n\r\n")
                    return True
                if kind == "short":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
                if kind == "until-end":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\nall of it")
                if kind == "no-http":
                    self.wfile.write(b"SSH-2.0 hello\r\n\r\n")
                if kind in ("slow", "slow-body"):
                    if kind == "slow-body":
                        self.wfile.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\npart")
                    wire.over.wait(20)
                return False

        self.over = threading.Event()
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def wire() -> Iterator[Wire]:
    server = Wire()
    yield server
    server.close()


def form() -> Any:
    made = aiohttp.FormData()
    made.add_field("file", b"\x00\xff text", filename="a.bin")
    made.add_field("name", "value")
    return made


async def pieces() -> AsyncIterator[bytes]:
    yield b"one "
    yield b"two"


BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "none": dict,
    "json": lambda: {"json": {"a": [1, "ü"]}},
    "form": lambda: {"data": {"a": "1", "b": "ü"}},
    "bytes": lambda: {"data": b"\x00\xff raw"},
    "multipart": lambda: {"data": form()},
    "stream": lambda: {"data": pieces()},
    "compressed": lambda: {"data": b"packed " * 50, "compress": "deflate"},
    "expected": lambda: {"data": b"asked first", "expect100": True},
}
REDIRECTS = ("301", "302", "303", "307", "308")


def _facts(response: Any, body: bytes) -> tuple[Any, ...]:
    def head(one: Any) -> tuple[Any, ...]:
        kept = {name.lower(): value for name, value in one.headers.items() if name.lower() in STORED_RESPONSE}
        return one.status, one.reason, one.method, str(one.url).rpartition("/")[2], sorted(kept), one.version

    # A boundary is a new one each time.
    said = json.loads(body)[::2] if body[:1] == b"[" and b"form-data" in body else body
    return (*head(response), said, [head(one) for one in response.history])


async def _said(ask: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await ask()
    except Exception as error:
        return type(error).__name__, str(error)


def _three_times(deck: Deck, wire: Wire, calls: Callable[[Any], Awaitable[list[Any]]]) -> list[Any]:
    """Return what `calls` gives bare, which is what it gives recorded and replayed."""

    async def run() -> list[Any]:
        async with aiohttp.ClientSession(wire.url) as session:
            return await calls(session)

    bare = asyncio.run(run())
    with deck.recording():
        recorded = asyncio.run(run())
    count = wire.count
    with deck.replaying():
        replayed = asyncio.run(run())
    assert recorded == bare
    assert replayed == bare
    assert wire.count == count, "nothing was asked in the replay"
    assert deck.tape.unused() == []
    return bare


def test_redirects_by_method_and_body(deck: Deck, wire: Wire) -> None:
    cases = list(itertools.product(("GET", "HEAD", "POST", "PUT", "DELETE"), REDIRECTS, BODIES))

    async def calls(session: Any) -> list[Any]:
        async def one(case: tuple[str, str, str]) -> Any:
            method, status, body = case
            async with session.request(method, f"/moved/{status}", **BODIES[body]()) as response:
                return _facts(response, await response.read())

        return [await _said(functools.partial(one, case)) for case in cases]

    said = dict(zip(cases, _three_times(deck, wire, calls), strict=True))
    assert json.loads(said["PUT", "307", "json"][-2])[0] == "PUT"
    assert json.loads(said["POST", "302", "json"][-2])[:2] == ["GET", ""]
    assert said["POST", "308", "stream"][0] == "ClientPayloadError", "a generator cannot be asked twice"


@pytest.mark.parametrize(
    "path",
    [
        *(f"/encoded/{name}" for name in ENCODINGS),
        *("/chunked", "/chunked/broken", "/short", "/until-end", "/no-http", "/dropped"),
        *(f"/status/{status}" for status in (200, 204, 304, 404, 429, 500)),
    ],
)
def test_answers_by_the_way_they_are_read(deck: Deck, wire: Wire, path: str) -> None:
    async def calls(session: Any) -> list[Any]:
        async def read(how: Callable[[Any], Awaitable[Any]], method: str = "POST", **kwargs: Any) -> Any:
            async with session.request(method, path, data=b"{}", **kwargs) as response:
                facts = (response.status, response.headers.get("x-request-id"))
                return facts, await _said(lambda: how(response))

        async def joined(pieces: Any) -> bytes:
            return b"".join([piece async for piece in pieces])

        async def lines(response: Any) -> list[bytes]:
            return [line async for line in response.content]

        async def left(response: Any) -> None:
            response.release()

        return [
            await _said(lambda: read(lambda response: response.read())),
            await _said(lambda: read(lambda response: joined(response.content.iter_chunked(7)))),
            await _said(lambda: read(lambda response: joined(response.content.iter_any()))),
            await _said(lambda: read(lines)),
            await _said(lambda: read(lambda response: response.content.readexactly(4))),
            await _said(lambda: read(lambda response: response.content.readline())),
            await _said(lambda: read(lambda response: response.json(content_type=None))),
            await _said(lambda: read(left)),
            await _said(lambda: read(lambda response: response.read(), "HEAD")),
            await _said(lambda: read(lambda response: response.read(), raise_for_status=True)),
        ]

    _three_times(deck, wire, calls)


@pytest.mark.parametrize("path", ["/slow", "/slow-body"])
@pytest.mark.parametrize("kind", ["total", "sock_read"])
def test_a_time_that_is_over(deck: Deck, wire: Wire, path: str, kind: str) -> None:
    async def calls(session: Any) -> list[Any]:
        async def one() -> Any:
            async with session.post(path, timeout=aiohttp.ClientTimeout(**{kind: 0.3})) as response:
                return await response.read()

        return [await _said(one)]

    ((error, _),) = _three_times(deck, wire, calls)
    assert error == {"total": "TimeoutError", "sock_read": "SocketTimeoutError"}[kind]


def test_an_event_is_there_before_the_end(deck: Deck, wire: Wire) -> None:
    async def calls(session: Any) -> list[Any]:
        response = await session.post("/chunked")
        event = await response.content.readline()
        response.close()
        return [event]

    assert _three_times(deck, wire, calls) == [b"data: one\n"]


def test_traces_and_cookies_are_those_of_the_session(deck: Deck, wire: Wire) -> None:
    heard: list[str] = []

    async def run() -> list[str]:
        heard.clear()
        config = aiohttp.TraceConfig()
        for name in ("request_start", "request_chunk_sent", "request_redirect", "request_end"):

            async def hear(session: Any, context: Any, params: Any, name: str = name) -> None:
                heard.append(name)

            getattr(config, f"on_{name}").append(hear)
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(wire.url, trace_configs=[config], cookie_jar=jar) as session:
            async with session.post("/moved/307", data=b"x") as response:
                await response.read()
            return [*heard, *(cookie.key for cookie in jar)]

    with deck.recording():
        recorded = asyncio.run(run())
    with deck.replaying():
        assert asyncio.run(run()) == recorded
    assert "request_redirect" in recorded
    assert recorded[-1] == "a"


def test_a_websocket_is_never_recorded_and_refused_in_a_replay(deck: Deck, wire: Wire) -> None:
    async def connect() -> None:
        async with aiohttp.ClientSession() as session:
            await session.ws_connect(f"{wire.url}/status/404")

    with deck.recording() as player:
        with pytest.raises(aiohttp.WSServerHandshakeError):
            asyncio.run(connect())
        assert player.unseen == ["websocket"]
    assert deck.calls() == []
    count = wire.count
    with deck.replaying(), pytest.raises(MissError, match="a websocket did not open"):
        asyncio.run(connect())
    assert wire.count == count
