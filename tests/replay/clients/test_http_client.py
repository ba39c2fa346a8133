"""Clients other than httpx: recorded from a real server, and replayed without one."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import brotli
import pytest
import zstandard

from pytest_recall.files.errors import MissError
from pytest_recall.replay.encodings import decoded
from pytest_recall.replay.exchange import Exchange, Request, Response
from tests.replay.http_clients import (
    CLIENTS,
    Post,
    by_aiohttp,
    by_boto3,
    by_requests,
    by_stdlib,
    by_urllib3,
    every_client,
    number,
)
from tests.replay.upstream import Deck, Upstream, write


@every_client
def test_a_recorded_call_is_kept_and_replayed_without_the_upstream(deck: Deck, upstream: Upstream, post: Post) -> None:
    url = f"{upstream.url}/chat"
    with deck.recording():
        recorded = [post(url, b'{"q": 1}'), post(url, b'{"q": 2}'), post(url, b'{"q": 1}')]
    assert [number(answer) for answer in recorded] == [1, 2, 3]
    call = deck.calls()[0]
    assert call.request.method == "POST"
    assert call.request.url.startswith(f"{upstream.url}/")
    assert call.request.body == b'{"q":1}'
    assert call.response is not None
    assert (call.response.status, call.response.reason) == (200, "OK")
    assert call.response.header("x-request-id") == "req-1"
    assert call.response.chunks == (recorded[0][1],)
    assert call.response.complete
    assert call.failure is None
    upstream.close()
    with deck.replaying():
        replayed = [post(url, b'{"q": 2}'), post(url, b'{"q":1}'), post(url, b'{"q": 1}')]
    assert replayed == [recorded[1], recorded[0], recorded[2]]
    assert deck.tape.unused() == []
    assert [made.source for made in deck.tape.made] == ["replayed"] * 3


@every_client
def test_a_miss_is_no_exception_that_a_client_retries(deck: Deck, upstream: Upstream, post: Post) -> None:
    with deck.recording():
        post(f"{upstream.url}/chat", b'{"q": 1}')
    upstream.close()
    with deck.replaying():
        with pytest.raises(MissError, match="is not recorded"):
            post(f"{upstream.url}/chat", b'{"q": "new"}')
        assert len(deck.tape.misses) == 1, "a miss is asked for once"
        assert "q: “1” → “new”" in deck.tape.misses[0]
        post(f"{upstream.url}/chat", b'{"q": 1}')
        with pytest.raises(MissError, match="once more than it was recorded"):
            post(f"{upstream.url}/chat", b'{"q": 1}')
    assert upstream.count == 1


@pytest.mark.parametrize("post", CLIENTS[:4])
@pytest.mark.parametrize(("path", "status"), [("/broken", 500), ("/unavailable", 503)])
def test_errors_of_the_upstream(deck: Deck, upstream: Upstream, post: Post, path: str, status: int) -> None:
    with deck.recording():
        recorded = post(upstream.url + path, b"{}")
    assert recorded[0] == status
    with deck.replaying():
        assert post(upstream.url + path, b"{}") == recorded
    assert upstream.count == 1


def test_errors_of_the_upstream_in_botocore(deck: Deck, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "answer", lambda handler, body, count: _refuse(handler))
    with deck.recording():
        assert by_boto3(f"{upstream.url}/chat", b"{}") == (403, b"")
    with deck.replaying():
        assert by_boto3(f"{upstream.url}/chat", b"{}") == (403, b"")


def _refuse(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(403)
    handler.send_header("content-length", "0")
    handler.end_headers()


@pytest.mark.parametrize("post", CLIENTS[1:4])
def test_a_compressed_answer_is_not_asked_for(deck: Deck, upstream: Upstream, post: Post) -> None:
    with deck.recording():
        recorded = post(f"{upstream.url}/gzip", b"{}")
    (call,) = deck.calls()
    assert call.response is not None
    assert call.response.header("content-encoding") is None
    assert call.response.body == recorded[1], "readable in the cassette"
    with deck.replaying():
        assert post(f"{upstream.url}/gzip", b"{}") == recorded


def by_httpx(url: str, body: bytes) -> tuple[int, bytes]:
    """Post with httpx."""
    httpx = pytest.importorskip("httpx")
    answer = httpx.post(url, content=body)
    return answer.status_code, answer.content


@pytest.mark.parametrize("encoding", ["br", "zstd"])
@pytest.mark.parametrize("post", [*CLIENTS[:4], by_httpx])
def test_an_answer_that_comes_compressed_is_kept_and_searched(
    deck: Deck, upstream: Upstream, post: Post, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    packed = {"br": brotli.compress, "zstd": zstandard.compress}[encoding](b'{"said": "hello"}')
    monkeypatch.setattr(upstream, "answer", lambda handler, body, count: _answer(handler, encoding, packed))
    with deck.recording():
        recorded = post(f"{upstream.url}/chat", b"{}")
    upstream.close()
    with deck.replaying():
        assert post(f"{upstream.url}/chat", b"{}") == recorded
    (call,) = deck.calls()
    assert call.response is not None
    plain = decoded(call.response.headers, call.response.chunks)
    assert plain is not None
    assert b"".join(plain) == b'{"said": "hello"}'


def _answer(handler: BaseHTTPRequestHandler, encoding: str, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("content-encoding", encoding)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def test_a_cassette_with_compressed_answers_is_served_as_the_client_reads_it(deck: Deck) -> None:
    import gzip

    headers = (("content-encoding", "gzip"), ("content-type", "text/plain"))
    response = Response(200, "OK", headers, (gzip.compress(b"hello"),))
    write(deck, Exchange("", 0, "agent", Request("POST", "http://x/y", (), b"hi"), response))
    for post, body in ((by_requests, b"hello"), (by_aiohttp, b"hello"), (by_stdlib, response.chunks[0])):
        with deck.replaying():
            assert post("http://x/y", b"hi") == (200, body)


@pytest.mark.parametrize("post", CLIENTS[:4])
def test_https_needs_no_certificates_in_a_replay(deck: Deck, post: Post) -> None:
    response = Response(200, "OK", (), (b"hello",))
    write(deck, Exchange("", 0, "agent", Request("POST", "https://api.test/v1/chat", (), b"{}"), response))
    with deck.replaying():
        assert post("https://api.test/v1/chat", b"{}") == (200, b"hello")


# Retries and streams


def test_a_recorded_wait_is_not_waited_for(deck: Deck, upstream: Upstream, monkeypatch: pytest.MonkeyPatch) -> None:
    urllib3 = pytest.importorskip("urllib3")
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)

    def post() -> int:
        with urllib3.PoolManager(retries=urllib3.Retry(3, allowed_methods=None, status_forcelist=[429])) as pool:
            return number((0, pool.request("POST", f"{upstream.url}/busy", body=b"{}").data))

    with deck.recording():
        assert post() == 2
    assert waits == [30], "the upstream has asked for it"
    upstream.close()
    with deck.replaying():
        assert post() == 2
    assert waits == [30]
    assert [call.response and call.response.status for call in deck.calls()] == [429, 200]


def test_no_retry_is_provoked_that_was_not_recorded(deck: Deck, upstream: Upstream) -> None:
    """urllib3 tries again after a 503 if, and only if, it is told for how long to wait."""
    urllib3 = pytest.importorskip("urllib3")

    def post() -> int:
        with urllib3.PoolManager(retries=urllib3.Retry(3, allowed_methods=None)) as pool:
            status: int = pool.request("POST", f"{upstream.url}/unavailable", body=b"{}").status
            return status

    with deck.recording():
        assert post() == 503
    with deck.replaying():
        assert post() == 503
    assert upstream.count == 1


def test_a_pool_that_nobody_needs_is_let_go(deck: Deck, upstream: Upstream) -> None:
    urllib3 = pytest.importorskip("urllib3")
    with deck.recording():
        pool = urllib3.HTTPConnectionPool(upstream.url.removeprefix("http://"))
        pool.request("POST", "/chat", body=b"{}")
        gone = weakref.ref(pool)
        del pool
        gc.collect()
        assert gone() is None


def test_a_stream_is_read_line_by_line(deck: Deck, upstream: Upstream) -> None:
    requests = pytest.importorskip("requests")

    def lines() -> list[bytes]:
        with requests.post(f"{upstream.url}/events", data=b"{}", stream=True) as response:
            return [line for line in response.iter_lines() if line]

    with deck.recording():
        assert lines() == [b"data: one", b"data: two"]
    with deck.replaying():
        assert lines() == [b"data: one", b"data: two"]


def test_aiohttp_streams_parses_and_follows(deck: Deck, upstream: Upstream) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def calls() -> list[Any]:
        async with aiohttp.ClientSession() as session:
            async with session.post(f"{upstream.url}/events", json={}) as response:
                events = [line async for line in response.content if line.strip()]
            async with session.post(f"{upstream.url}/moved", json={"a": [1]}) as response:
                moved = response.status, str(response.url), (await response.json())["number"]
            async with session.post(f"{upstream.url}/chat", json={"a": [1]}) as response:
                return [events, moved, await response.json()]

    with deck.recording():
        recorded = asyncio.run(calls())
    assert recorded[0] == [b"data: one\n", b"data: two\n"]
    assert recorded[1] == (200, f"{upstream.url}/there", 3)
    assert [made.seq for made in deck.tape.made] == [0, 1, 2, 3], "a redirect is asked for once"
    assert [(call.request.method, call.request.url.rpartition("/")[2]) for call in deck.calls()] == [
        ("POST", "events"),
        ("POST", "moved"),
        ("GET", "there"),
        ("POST", "chat"),
    ]
    with deck.replaying():
        assert asyncio.run(calls()) == recorded
    assert deck.tape.unused() == []


def test_aiohttp_gathers(deck: Deck, upstream: Upstream) -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def calls() -> list[int]:
        async with aiohttp.ClientSession() as session:

            async def one(question: int) -> int:
                async with session.post(f"{upstream.url}/chat", json={"q": question}) as response:
                    asked: int = json.loads((await response.json())["asked"])["q"]
                    return asked

            return await asyncio.gather(*(one(question) for question in range(12)))

    with deck.recording():
        assert asyncio.run(calls()) == list(range(12))
    assert len(deck.calls()) == 12
    with deck.replaying():
        assert asyncio.run(calls()) == list(range(12))


# Whose calls


@pytest.mark.parametrize("post", CLIENTS[:4])
def test_a_live_judge_is_not_recorded(deck: Deck, upstream: Upstream, post: Post) -> None:
    url = f"{upstream.url}/chat"
    with deck.recording() as player:
        player.know({"judge": "live"})
        post(url, b'{"q": 1}')
        with player.asking("judge"):
            assert number(post(url, b'{"q": 1}')) == 2
    assert len(deck.calls()) == 1
    with deck.replaying() as player:
        player.know({"judge": "live"})
        assert number(post(url, b'{"q": 1}')) == 1
        with player.asking("judge"):
            assert number(post(url, b'{"q": 1}')) == 3
    assert [(made.kind, made.source) for made in deck.tape.made] == [("agent", "replayed"), ("judge", "live")]


def test_a_session_is_shared_by_an_agent_and_a_judge(deck: Deck, upstream: Upstream) -> None:
    requests = pytest.importorskip("requests")
    with requests.Session() as session:

        def ask() -> int:
            count: int = session.post(f"{upstream.url}/chat", data=b"{}").json()["number"]
            return count

        with deck.recording():
            assert [ask(), ask()] == [1, 2]
        with deck.replaying() as player:
            player.know({"judge": "live"})
            assert ask() == 1
            with player.asking("judge"):
                assert ask() == 3
            assert ask() == 2
        assert ask() == 4, "afterwards it is live again"


def test_what_is_missing_is_recorded(deck: Deck, upstream: Upstream) -> None:
    url = f"{upstream.url}/chat"
    with deck.recording():
        by_requests(url, b'{"q": 1}')
    with deck.recording("missing"):
        assert [number(by_requests(url, b'{"q": 1}')), number(by_requests(url, b'{"q": 2}'))] == [1, 2]
    assert [call.request.body for call in deck.calls()] == [b'{"q":1}', b'{"q":2}']


def test_httpx_beside_it_is_recorded_once(deck: Deck, upstream: Upstream) -> None:
    httpx = pytest.importorskip("httpx")
    with deck.recording():
        by_requests(f"{upstream.url}/chat", b"{}")
        httpx.post(f"{upstream.url}/chat", content=b"{}")
    assert [call.seq for call in deck.calls()] == [0, 1]


@pytest.mark.parametrize("post", [by_stdlib, by_requests, by_urllib3])
def test_no_thread_goes_by_unseen(deck: Deck, upstream: Upstream, post: Post) -> None:
    """Each call opens a connection: none may find the real class while another one connects."""
    bodies = [b'{"q": %d}' % (place % 10) for place in range(24)]
    with deck.recording(), ThreadPoolExecutor(8) as threads:
        recorded = [number(answer) for answer in threads.map(lambda body: post(f"{upstream.url}/chat", body), bodies)]
    assert sorted(recorded) == list(range(1, 25))
    assert len(deck.calls()) == 24
    upstream.close()
    with deck.replaying(), ThreadPoolExecutor(8) as threads:
        replayed = [number(answer) for answer in threads.map(lambda body: post(f"{upstream.url}/chat", body), bodies)]
    assert sorted(replayed) == list(range(1, 25)), "each answer goes out once"


@pytest.mark.parametrize("kind", ["file", "form", "payload", "multipart"])
def test_aiohttp_uploads_an_open_file(deck: Deck, upstream: Upstream, tmp_path: Path, kind: str) -> None:
    aiohttp = pytest.importorskip("aiohttp")
    path = tmp_path / "upload.txt"

    def body_of(file: Any) -> Any:
        if kind == "form":
            form = aiohttp.FormData()
            form.add_field("file", file, filename="upload.txt")
            return form
        if kind == "multipart":
            writer = aiohttp.MultipartWriter("form-data", boundary="x")
            writer.append(file)
            return writer
        return aiohttp.BufferedReaderPayload(file) if kind == "payload" else file

    async def upload(text: str) -> Any:
        path.write_text(text)
        async with aiohttp.ClientSession() as session:
            with path.open("rb") as file:
                async with session.post(f"{upstream.url}/chat", data=body_of(file)) as response:
                    return json.loads(await response.read())

    plain = asyncio.run(upload("some words"))
    with deck.recording():
        recorded = asyncio.run(upload("some words"))
    if kind == "file":  # The others travel in pieces, which this server does not join.
        assert (plain["asked"], recorded["asked"]) == ("some words", "some words")
    upstream.close()
    with deck.replaying():
        assert asyncio.run(upload("some words")) == recorded
        with pytest.raises(MissError):
            asyncio.run(upload("other words"))
