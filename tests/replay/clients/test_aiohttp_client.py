"""aiohttp, bare against a server on loopback, recorded, and replayed when that is gone: all three are the same."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import STORED_RESPONSE
from tests.replay.upstream import Deck
from tests.replay.wire import ENCODINGS, Wire

aiohttp = pytest.importorskip("aiohttp")


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


def _three_times(
    deck: Deck, wire: Wire, calls: Callable[[Any], Awaitable[list[Any]]], *, is_kept: bool = False
) -> list[Any]:
    """Return what `calls` gives bare, which is what it gives recorded and replayed; each connection may be kept.

    One that the server has closed may be met once more or not, so that none is kept where it closes them.
    """

    async def run() -> list[Any]:
        connector = aiohttp.TCPConnector(force_close=not is_kept)
        async with aiohttp.ClientSession(wire.url, connector=connector) as session:
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


@pytest.mark.parametrize("is_kept", [False, True])
def test_redirects_by_method_and_body(deck: Deck, wire: Wire, is_kept: bool) -> None:
    cases = list(itertools.product(("GET", "HEAD", "POST", "PUT", "DELETE"), REDIRECTS, BODIES))

    async def calls(session: Any) -> list[Any]:
        async def one(case: tuple[str, str, str]) -> Any:
            method, status, body = case
            async with session.request(method, f"/moved/{status}", **BODIES[body]()) as response:
                return _facts(response, await response.read())

        return [await _said(functools.partial(one, case)) for case in cases]

    said = dict(zip(cases, _three_times(deck, wire, calls, is_kept=is_kept), strict=True))
    assert (wire.connections < wire.count / 2) is is_kept
    assert json.loads(said["PUT", "307", "json"][-2])[0] == "PUT"
    assert json.loads(said["POST", "302", "json"][-2])[:2] == ["GET", ""]
    assert said["POST", "308", "stream"][0] == "ClientPayloadError", "a generator cannot be asked twice"


CLOSING = ("/chunked/broken", "/short", "/until-end", "/no-http", "/dropped")
KEEPING = (
    *(f"/encoded/{name}" for name in ENCODINGS),
    *("/chunked", *(f"/status/{status}" for status in (200, 204, 304, 404, 429, 500))),
)


@pytest.mark.parametrize(
    ("path", "is_kept"), [*itertools.product((*CLOSING, *KEEPING), [False]), *itertools.product(KEEPING, [True])]
)
def test_answers_by_the_way_they_are_read(deck: Deck, wire: Wire, path: str, is_kept: bool) -> None:
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

    _three_times(deck, wire, calls, is_kept=is_kept)


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


@pytest.mark.parametrize("leave", ["release", "close", "raise_for_status"])
def test_who_leaves_before_the_end_is_no_failure(deck: Deck, wire: Wire, leave: str) -> None:
    async def run() -> None:
        async with aiohttp.ClientSession(wire.url) as session:
            response = await session.post("/slow-body/500")
            with contextlib.suppress(aiohttp.ClientResponseError):
                getattr(response, leave)()

    with deck.recording():
        asyncio.run(run())
    (call,) = deck.calls()
    assert call.failure is None
    assert call.response is not None
    assert not call.response.complete
    with deck.replaying():
        asyncio.run(run())


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
