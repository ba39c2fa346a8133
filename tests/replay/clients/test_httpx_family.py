"""httpx and httpx2: what is replaced, what is left alone, and what a replayed response still tells."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.clients import httpx_family
from pytest_recall.replay.exchange import CANCELLED, Exchange, Failure, Request, Response
from pytest_recall.replay.player import Player
from tests.replay.test_tape import tape_of

URL = "https://upstream.test/v1/any"
HEADERS = (("X-Second", "2"), ("content-type", "text/plain"), ("x-first", "1"), ("x-second", "3"))


@pytest.fixture(params=["httpx2", "httpx"])
def family(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """One of the family. It reads certificates, whatever a replay in this process has left behind, with a thread."""
    module = pytest.importorskip(request.param)
    names = inspect.unwrap(module.HTTPTransport.__init__).__globals__
    monkeypatch.setitem(names, "create_ssl_context", inspect.unwrap(names["create_ssl_context"]))
    return module


def patch(family: Any, player: Player, patched: set[type]) -> list[Callable[[], None]]:
    """Put a player before one of the family and the httpcore that it sends by."""
    core = importlib.import_module(family.__name__.replace("httpx", "httpcore"))
    return [*httpx_family.patch(family, player, patched), *httpx_family.patch(core, player, patched)]


class Replay:
    """A player of one exchange before the pools of a module."""

    def __init__(self, family: Any, folder: Path) -> None:
        self.family = family
        self.folder = folder
        self.player = Player("replay")
        self.undo = patch(family, self.player, set())

    def of(self, response: Response | None, failure: Failure | None = None, seconds: float = 0.0) -> Any:
        """Put in a tape that has this answer to a GET of the URL."""
        exchange = Exchange("", 0, "agent", Request("GET", URL), response, failure, at="2026-03-10", seconds=seconds)
        self.player.clear()
        self.player.push(tape_of(self.folder, exchange))


@pytest.fixture
def replay(family: Any, tmp_path: Path) -> Iterator[Replay]:
    """A replay before one of the family."""
    replaying = Replay(family, tmp_path)
    yield replaying
    for back in reversed(replaying.undo):
        back()


def test_a_response_is_what_it_was(replay: Replay) -> None:
    replay.of(Response(201, "Made Up", HEADERS, (b"one ", b"two"), http_version="HTTP/2"))
    with replay.family.Client() as client:
        response = client.get(URL)
    assert (response.status_code, response.reason_phrase, response.http_version) == (201, "Made Up", "HTTP/2")
    # A cassette groups the values of a name; the names stay in their order.
    assert [(name.decode(), value.decode()) for name, value in response.headers.raw] == [*HEADERS]
    assert response.text == "one two"
    assert str(response.request.url) == URL


def test_a_refusal_makes_nobody_wait(replay: Replay) -> None:
    replay.of(Response(429, "Too Many", (("retry-after", "30"), ("x-request-id", "1"))))
    with replay.family.Client() as client:
        headers = client.get(URL).headers
    assert headers["retry-after-ms"] == "1"
    assert headers["retry-after"] == "0"
    assert headers["x-request-id"] == "1"


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        ("ReadTimeout", "ReadTimeout"),
        ("ConnectError", "ConnectError"),
        ("PoolTimeout", "PoolTimeout"),
        ("NoSuchThing", "TransportError"),
        ("Client", "TransportError"),
    ],
)
def test_a_failure_is_raised_as_what_it_was(replay: Replay, kind: str, named: str) -> None:
    replay.of(None, Failure(kind, "as recorded"))
    with replay.family.Client() as client, pytest.raises(replay.family.TransportError, match="as recorded") as caught:
        client.get(URL)
    assert type(caught.value).__name__ == named
    assert str(caught.value.request.url) == URL


def test_a_body_that_broke_off_does_so_again(replay: Replay) -> None:
    replay.of(Response(200, "OK", (), (b"a", b"b")), Failure("ReadError", "lost"))
    seen = []
    with (
        replay.family.Client() as client,
        pytest.raises(replay.family.ReadError, match="lost"),
        client.stream("GET", URL) as response,
    ):
        seen.extend(response.iter_raw())
    assert seen == [b"a", b"b"]


def test_a_host_that_is_an_address_of_ipv6_keeps_its_brackets(replay: Replay) -> None:
    replay.of(Response(200))
    for url in ("http://[2001:db8::1]:81/v1", "http://[2001:db8::1]/v1"):
        with replay.family.Client() as client, pytest.raises(MissError) as missed:
            client.get(url)
        assert f"GET {url} is not recorded" in str(missed.value)


def test_a_stream_that_breaks_off_in_a_task_is_recorded_as_far_as_it_came(family: Any, tmp_path: Path) -> None:
    core = importlib.import_module(family.__name__.replace("httpx", "httpcore"))
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n"
    player, tape = Player("record"), tape_of(tmp_path, mode="record")
    undo = patch(family, player, set())

    async def read() -> None:
        backend = core.AsyncMockBackend([head, b"half"])
        async with core.AsyncConnectionPool(network_backend=backend) as pool:
            await pool.request("GET", "http://upstream.test/")

    with player.playing(tape), pytest.raises(core.RemoteProtocolError):
        asyncio.run(read())
    for back in reversed(undo):
        back()
    tape.close()
    (call,) = tape.recorded()
    assert call.response is not None
    assert call.response.body == b"half"
    assert call.failure is not None
    assert call.failure.kind == "RemoteProtocolError"


def test_reading_past_an_early_close_is_a_miss_that_is_written_down(replay: Replay) -> None:
    replay.of(Response(200, "OK", (), (b"a",), complete=False))
    with replay.family.Client() as client, pytest.raises(MissError, match="read on where"):
        client.get(URL)
    tape = replay.player.tape
    assert tape is not None
    assert len(tape.misses) == 1


def test_a_cancelled_call_waits_to_be_cancelled(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    replay.of(None, Failure(CANCELLED, ""))

    async def lost() -> bool:
        async with replay.family.AsyncClient() as client:
            task = asyncio.create_task(client.get(URL))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

    assert asyncio.run(lost())


def test_a_cancelled_call_that_is_waited_for_is_a_miss(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    replay.of(None, Failure(CANCELLED, ""), seconds=2)
    sleep, slept = asyncio.sleep, []

    async def at_once(delay: float) -> None:
        slept.append(delay)
        await sleep(0)

    monkeypatch.setattr(asyncio, "sleep", at_once)

    async def get() -> None:
        async with replay.family.AsyncClient() as client:
            await client.get(URL)

    with pytest.raises(MissError, match="was cancelled when it was recorded, and is waited for now"):
        asyncio.run(get())
    assert slept[-1] == 7.0


def test_transports_that_open_no_connection_are_left_alone(replay: Replay) -> None:
    replay.player.clear()
    transport = replay.family.MockTransport(lambda request: replay.family.Response(204))
    with replay.family.Client(transport=transport) as client:
        assert client.get(URL).status_code == 204
    assert replay.player.strays == []


def test_a_transport_of_ones_own_that_builds_on_theirs_is_replaced(replay: Replay) -> None:
    class Counting(replay.family.HTTPTransport):  # type: ignore[misc,name-defined]
        count = 0

        def handle_request(self, request: Any) -> Any:
            self.count += 1
            return super().handle_request(request)

    replay.of(Response(200, "OK", (), (b"a",)))
    transport = Counting()
    with replay.family.Client(transport=transport) as client:
        assert client.get(URL).text == "a"
    assert transport.count == 1


def test_a_class_is_hooked_once_and_put_back(family: Any) -> None:
    core = importlib.import_module(family.__name__.replace("httpx", "httpcore"))
    functions = (core.ConnectionPool.handle_request, core.AsyncConnectionPool.handle_async_request)
    before = [(function.__code__, dict(vars(function))) for function in functions]
    patched: set[type] = set()
    player = Player("record")
    undo = patch(family, player, patched)
    now = [function.__code__ for function in functions]
    assert [code for code, _ in before if code in now] == []
    assert (core.ConnectionPool.handle_request, core.AsyncConnectionPool.handle_async_request) == functions
    assert patch(family, player, patched) == []
    assert [function.__code__ for function in functions] == now
    for back in reversed(undo):
        back()
    assert [(function.__code__, dict(vars(function))) for function in functions] == before
    assert patched == set()


class TestTls:
    """Certificates are read when a connection needs them, which in a replay none does."""

    @pytest.fixture
    def read(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The list of the times that certificates are read."""
        times: list[str] = []
        for name in ("load_verify_locations", "load_default_certs"):
            monkeypatch.setattr(ssl.SSLContext, name, lambda self, *args, _name=name, **kwargs: times.append(_name))
        return times

    def test_a_client_reads_none(self, replay: Replay, read: list[str]) -> None:
        replay.of(Response(200, "OK", (), (b"a",)))
        with replay.family.Client() as client:
            assert client.get(URL).text == "a"
        assert read == []

    def test_ones_own_settings_are_followed(self, replay: Replay) -> None:
        mine = ssl.create_default_context()
        with replay.family.Client(verify=mine) as client:
            assert client._transport._pool._ssl_context is mine

    def test_outside_of_a_replay_all_is_as_it_was(self, family: Any, read: list[str]) -> None:
        undo = patch(family, Player("record"), set())
        family.Client().close()
        assert read
        for back in reversed(undo):
            back()

    def test_afterwards_as_well(self, family: Any, read: list[str]) -> None:
        for back in reversed(patch(family, Player("replay"), set())):
            back()
        family.Client().close()
        assert read

    def test_a_connection_gets_a_real_one(self, replay: Replay) -> None:
        with replay.family.Client(http2=False) as client:
            lazy = client._transport._pool._ssl_context
            bio = ssl.MemoryBIO(), ssl.MemoryBIO()
            wrapped = lazy.wrap_bio(*bio, server_hostname="upstream.test")
        assert wrapped.context is not lazy
        assert wrapped.context.verify_mode is ssl.CERT_REQUIRED
        assert wrapped.context.check_hostname

    def test_it_speaks_the_protocols_that_the_client_has_set(self) -> None:
        set_for: list[list[str]] = []

        class Real(ssl.SSLContext):
            def set_alpn_protocols(self, alpn_protocols: Any) -> None:
                set_for.append(alpn_protocols)

        lazy = httpx_family.LazyContext.standing_for(lambda: Real(ssl.PROTOCOL_TLS_CLIENT))
        lazy.set_alpn_protocols(["http/1.1", "h2"])
        assert set_for == []
        with socket.socket() as plain, lazy.wrap_socket(plain, server_hostname="upstream.test") as wrapped:
            assert isinstance(wrapped.context, Real)
        assert set_for == [["http/1.1", "h2"]]
