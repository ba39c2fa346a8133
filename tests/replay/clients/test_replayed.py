"""Calls that ended badly: recorded, and replayed as the same exceptions."""

from __future__ import annotations

import asyncio
import http.client
import threading
import urllib.error

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.clients.replayed import raised
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from tests.replay.http_clients import (
    by_aiohttp,
    by_requests,
    by_stdlib,
)
from tests.replay.upstream import Deck, Upstream, write


def test_a_refused_connection(deck: Deck, upstream: Upstream) -> None:
    upstream.close()
    url = f"{upstream.url}/chat"
    requests = pytest.importorskip("requests")
    aiohttp = pytest.importorskip("aiohttp")

    def fail() -> list[BaseException]:
        found = []
        for post, kind in (
            (by_requests, requests.ConnectionError),
            (by_aiohttp, aiohttp.ClientOSError),
            (by_stdlib, urllib.error.URLError),
        ):
            with pytest.raises(kind) as error:
                post(url, b"{}")
            found.append(error.value)
        return found

    with deck.recording():
        recorded = fail()
    assert [call.failure and call.failure.kind for call in deck.calls()] == [
        "NewConnectionError",
        "ClientConnectorError",
        "ConnectionRefusedError",
    ]
    assert all(call.response is None for call in deck.calls())
    with deck.replaying():
        replayed = fail()
    assert [type(error).__name__ for error in replayed] == [type(error).__name__ for error in recorded]
    assert isinstance(replayed[1], aiohttp.ClientConnectorError)
    assert [str(error) for error in replayed[1:]] == [str(error) for error in recorded[1:]]
    assert "Connection refused" in str(replayed[0])
    assert isinstance(replayed[2], urllib.error.URLError)
    refused = replayed[2].reason
    assert isinstance(refused, ConnectionRefusedError)
    assert refused.errno is not None


def test_a_timeout(deck: Deck, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = pytest.importorskip("requests")
    over = threading.Event()
    monkeypatch.setattr(upstream, "answer", lambda handler, body, count: over.wait(60))

    def post() -> None:
        with pytest.raises(requests.ReadTimeout):
            requests.post(f"{upstream.url}/chat", data=b"{}", timeout=0.05)

    with deck.recording():
        post()
    over.set()
    upstream.close()
    with deck.replaying():
        post()
    assert deck.calls()[0].failure == Failure("TimeoutError", "timed out")


def test_a_connection_that_breaks_within_a_response(deck: Deck, upstream: Upstream) -> None:
    requests = pytest.importorskip("requests")
    aiohttp = pytest.importorskip("aiohttp")

    def fail() -> list[str]:
        texts = []
        for post, kind in (
            (by_requests, requests.exceptions.ChunkedEncodingError),
            (by_aiohttp, aiohttp.ClientPayloadError),
            (by_stdlib, http.client.IncompleteRead),
        ):
            with pytest.raises(kind) as error:
                post(f"{upstream.url}/dropped", b"{}")
            texts.append(str(error.value))
        return texts

    with deck.recording():
        recorded = fail()
    with deck.replaying():
        assert fail() == recorded
    assert upstream.count == 3


def test_a_status_that_is_raised_is_no_failure(deck: Deck, upstream: Upstream) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def post() -> None:
        async with aiohttp.ClientSession(raise_for_status=True) as session:
            with pytest.raises(aiohttp.ClientResponseError, match="500"):
                await session.post(f"{upstream.url}/broken", json={})

    with deck.recording():
        asyncio.run(post())
    (call,) = deck.calls()
    assert call.failure is None
    assert call.response is not None
    assert call.response.status == 500
    with deck.replaying():
        asyncio.run(post())


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("ConnectionResetError", "[Errno 104] Connection reset by peer", ConnectionResetError),
        ("TimeoutError", "timed out", TimeoutError),
        ("RemoteDisconnected", "gone", http.client.RemoteDisconnected),
        ("ReadTimeout", "too slow", TimeoutError),
        ("ConnectError", "no server", ConnectionError),
    ],
)
def test_failures_become_what_was_raised(kind: str, text: str, expected: type[Exception]) -> None:
    error = raised(Failure(kind, text))
    assert isinstance(error, expected)
    assert str(error) == text


def test_a_stream_that_was_closed_early_is_not_served_as_whole(deck: Deck) -> None:
    response = Response(200, "OK", (), (b"data: one\n\n",), complete=False)
    write(deck, Exchange("", 0, "agent", Request("POST", "http://x/y", (), b"{}"), response))
    with deck.replaying(), pytest.raises(MissError, match="read on where the recorded client had closed"):
        by_requests("http://x/y", b"{}")
