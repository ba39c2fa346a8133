"""The client of tornado, bare against a server on loopback, recorded, and replayed when that is gone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_recall.files.errors import MissError
from tests.replay.upstream import Deck
from tests.replay.wire import Wire

httpclient = pytest.importorskip("tornado.httpclient")


@pytest.mark.parametrize(
    "path", ["/echo", "/moved/302", "/moved/307", "/status/404", "/status/500", "/encoded/gzip", "/dropped", "/no-http"]
)
def test_answers_and_errors(deck: Deck, wire: Wire, path: str) -> None:
    async def fetch() -> list[Any]:
        pieces: list[bytes] = []
        said: list[Any] = []
        for how in ({}, {"streaming_callback": pieces.append}, {"raise_error": False}):
            try:
                answer = await httpclient.AsyncHTTPClient(force_instance=True).fetch(
                    wire.url + path, method="POST", body="{}", **how
                )
                said.append((answer.code, answer.reason, answer.headers.get("x-request-id"), answer.body))
            except Exception as error:
                said.append((type(error).__name__, str(error)))
        return [*said, b"".join(pieces)]

    bare = asyncio.run(fetch())
    with deck.recording():
        assert asyncio.run(fetch()) == bare
    count = wire.count
    with deck.replaying():
        assert asyncio.run(fetch()) == bare
    assert wire.count == count, "nothing was asked in the replay"
    assert deck.tape.unused() == []


def test_more_calls_than_the_client_makes_at_once(deck: Deck, wire: Wire) -> None:
    async def fetch() -> list[bytes]:
        client = httpclient.AsyncHTTPClient(force_instance=True, max_clients=1)
        asked = (client.fetch(f"{wire.url}/echo", method="POST", body=str(number)) for number in range(4))
        return [answer.body for answer in await asyncio.gather(*asked)]

    with deck.recording():
        recorded = asyncio.run(fetch())
    assert len(deck.calls()) == 4
    with deck.replaying():
        assert asyncio.run(fetch()) == recorded


def test_a_body_that_is_produced_meanwhile_is_refused(deck: Deck, wire: Wire) -> None:
    async def fetch() -> None:
        async def produce(write: Any) -> None:
            await write(b"{}")

        await httpclient.AsyncHTTPClient().fetch(f"{wire.url}/echo", method="POST", body_producer=produce)

    with deck.recording(), pytest.raises(MissError, match="produced while it is sent"):
        asyncio.run(fetch())
    assert wire.count == 0
