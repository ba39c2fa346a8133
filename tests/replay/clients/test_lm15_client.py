"""DSPy with `api_base=`, which asks by its copy of lm15: recorded, and replayed when the server is gone."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from tests.replay.upstream import Deck, Upstream


def _package() -> str:
    for name in ("lm15", "dspy._vendor.lm15"):
        try:
            importlib.import_module(f"{name}.transports._sync")
        except ImportError:
            continue
        return name
    pytest.skip("neither lm15 nor DSPy is installed")


def _facts(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("path", ["/chat", "/events", "/unavailable", "/dropped", "/gone"])
def test_a_call_is_replayed_as_it_was(deck: Deck, upstream: Upstream, way: str, path: str) -> None:
    package = _package()
    transports: Any = importlib.import_module(f"{package}.transports")
    made = importlib.import_module(f"{package}.transports._types").TransportRequest
    url = "http://127.0.0.1:9/gone" if path == "/gone" else upstream.url + path

    def request(body: bytes) -> Any:
        return made("POST", url, [("content-type", "application/json")], body)

    def sync(body: bytes) -> Any:
        with transports.StdlibTransport() as transport, transport.stream(request(body)) as response:
            return response.status, response.header("content-type"), list(response)

    async def in_task(body: bytes) -> Any:
        async with transports.StdlibAsyncTransport() as transport, transport.stream(request(body)) as response:
            return response.status, response.header("content-type"), [chunk async for chunk in response]

    def ask(body: bytes) -> Any:
        return _facts(lambda: sync(body) if way == "sync" else asyncio.run(in_task(body)))

    with deck.recording():
        recorded = ask(b'{"q": 1}')
    assert len(deck.calls()) == 1
    count = upstream.count
    with deck.replaying():
        assert ask(b'{"q": 1}') == recorded
        with pytest.raises(MissError):
            ask(b'{"q": 2}')
    assert upstream.count == count
    if path == "/events":
        assert b"".join(recorded[2]) == b"data: one\n\ndata: two\n\n"
