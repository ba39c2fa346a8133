"""Requests that a mock answers are not seen, and those that it passes through are, in whichever order both began."""

from __future__ import annotations

import asyncio
import importlib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.replay.upstream import Deck, Upstream

FAKE = "http://fake.invalid/v1"
Get = Callable[[str], str]
Mock = Callable[[Path], AbstractContextManager[object]]


def by_httpx(url: str) -> str:
    return str(importlib.import_module("httpx").get(url).text)


def by_httpx2(url: str) -> str:
    return str(importlib.import_module("httpx2").get(url).text)


def by_async_httpx(url: str) -> str:
    async def get() -> str:
        async with importlib.import_module("httpx").AsyncClient() as client:
            return str((await client.get(url)).text)

    return asyncio.run(get())


def by_requests(url: str) -> str:
    with importlib.import_module("requests").get(url) as response:
        return str(response.text)


def by_stdlib(url: str) -> str:
    with urllib.request.urlopen(url) as response:
        return str(response.read().decode())


def by_aiohttp(url: str) -> str:
    async def get() -> str:
        async with importlib.import_module("aiohttp").ClientSession() as session, session.get(url) as response:
            return str(await response.text())

    return asyncio.run(get())


@contextmanager
def transports(_: Path) -> Iterator[None]:
    """Replace the transports of httpx, as pytest-httpx does."""
    httpx = pytest.importorskip("httpx")
    real, real_async = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request

    def handle(self: Any, request: Any) -> Any:
        return httpx.Response(200, text="mocked") if request.url == FAKE else real(self, request)

    async def handle_async(self: Any, request: Any) -> Any:
        return httpx.Response(200, text="mocked") if request.url == FAKE else await real_async(self, request)

    with (
        mock.patch.object(httpx.HTTPTransport, "handle_request", handle),
        mock.patch.object(httpx.AsyncHTTPTransport, "handle_async_request", handle_async),
    ):
        yield


@contextmanager
def pools(_: Path) -> Iterator[None]:
    """Replace the pools of httpcore, as respx does."""
    respx = pytest.importorskip("respx")
    with respx.mock(assert_all_called=False) as router:
        router.get(FAKE).respond(text="mocked")
        router.route().pass_through()
        yield


@contextmanager
def adapters(_: Path) -> Iterator[None]:
    """Replace the adapters of requests, as responses does."""
    responses = pytest.importorskip("responses")
    with responses.RequestsMock(assert_all_requests_are_fired=False) as router:
        router.get(FAKE, body="mocked")
        router.add_passthru("http://127.0.0.1")
        yield


@contextmanager
def sessions(_: Path) -> Iterator[None]:
    """Replace the method of sessions of aiohttp, as aioresponses does."""
    aiohttp = pytest.importorskip("aiohttp")
    real = aiohttp.ClientSession._request

    class Mocked:
        async def __aenter__(self) -> Mocked:
            return self

        async def __aexit__(self, *raised: object) -> None:
            pass

        async def text(self) -> str:
            return "mocked"

    async def request(self: Any, method: str, url: str, **kwargs: Any) -> Any:
        return Mocked() if url == FAKE else await real(self, method, url, **kwargs)

    with mock.patch.object(aiohttp.ClientSession, "_request", request):
        yield


@contextmanager
def cassette(folder: Path) -> Iterator[None]:
    """Open a cassette of vcrpy."""
    vcr = pytest.importorskip("vcr")
    path = folder / "vcr.yaml"
    path.write_text(
        f"interactions:\n- request: {{body: '', headers: {{}}, method: GET, uri: '{FAKE}'}}\n"
        "  response:\n    body: {string: mocked}\n    headers: {Content-Type: [text/plain]}\n"
        "    status: {code: 200, message: OK}\nversion: 1\n",
        encoding="utf-8",
    )
    passed = {"before_record_request": lambda request: request if request.uri == FAKE else None}
    with vcr.use_cassette(str(path), record_mode="new_episodes", allow_playback_repeats=True, **passed):
        yield


PAIRS: list[tuple[Mock, Get]] = [
    *((pools, get) for get in (by_httpx, by_async_httpx)),
    *((transports, get) for get in (by_httpx, by_async_httpx)),
    (adapters, by_requests),
    (sessions, by_aiohttp),
    *((cassette, get) for get in (by_httpx, by_httpx2, by_async_httpx, by_requests, by_stdlib, by_aiohttp)),
]
every_pair = pytest.mark.parametrize(
    ("mocked", "get"), PAIRS, ids=[f"{mocked.__name__}-{get.__name__}" for mocked, get in PAIRS]
)


def seen(deck: Deck) -> list[str]:
    """Return the URLs of the calls that were recorded."""
    return [exchange.request.url for exchange in deck.tape.recorded()]


@every_pair
def test_a_mock_within_a_recording_and_a_replay_of_what_it_passed_through(
    deck: Deck, upstream: Upstream, tmp_path: Path, mocked: Mock, get: Get
) -> None:
    url = f"{upstream.url}/chat"
    with deck.recording():
        with mocked(tmp_path):
            assert get(FAKE) == "mocked"
            assert seen(deck) == []
            passed_through = get(url)
            assert '"number": 1' in passed_through
            assert seen(deck) == [url]
            assert get(FAKE) == "mocked"
        after = get(url)
        assert '"number": 2' in after
        assert seen(deck) == [url, url]
    upstream.close()
    with deck.replaying():
        with mocked(tmp_path):
            assert get(FAKE) == "mocked"
            assert get(url) == passed_through
        assert get(url) == after
    assert deck.tape.unused() == []
    assert deck.tape.misses == []


@every_pair
def test_a_mock_that_began_before_the_recording(
    deck: Deck, upstream: Upstream, tmp_path: Path, mocked: Mock, get: Get
) -> None:
    url = f"{upstream.url}/chat"
    before = mocked(tmp_path)
    before.__enter__()
    with deck.recording():
        assert get(FAKE) == "mocked"
        get(url)
        assert seen(deck) == [url]
        before.__exit__(None, None, None)
        get(url)
        assert seen(deck) == [url, url]
    assert '"number": 3' in get(url)
