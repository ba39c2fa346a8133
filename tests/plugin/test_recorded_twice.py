"""Two recordings of an agent that asks the same of a server that answers the same differ in one line of each file."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from tests.helpers.loopback import Loopback
from tests.helpers.project import BARE, Checkout
from tests.helpers.talking import FORGETTING, asking, drafts, finished

pytest.importorskip("httpx")
pytest.importorskip("requests")
pytest.importorskip("openai")

AGENT = """\
import asyncio
import concurrent.futures

import httpx
import requests
import urllib3

URL = {url!r}
CLOSED = {closed!r}


def body(number):
    # As long as each other, and told apart.
    return dict(messages=[dict(role="user", content=f"question {{number}}")])


def httpx_sync():
    with httpx.Client() as client:
        return "".join(client.post(URL + "/json", json=body(number)).text for number in range(3))


async def httpx_async():
    async with httpx.AsyncClient() as client:
        done = await asyncio.gather(*(client.post(URL + "/json", json=body(number)) for number in range(5)))
        return "".join(one.text for one in done)


async def openai_async():
    import openai
    async with openai.AsyncOpenAI(base_url=URL, api_key="none", max_retries=0) as client:
        done = await asyncio.gather(
            *(client.chat.completions.create(model="m", **body(number)) for number in range(5))
        )
        return str(len(done))


def threads():
    with httpx.Client() as client, concurrent.futures.ThreadPoolExecutor(5) as pool:
        ask = lambda number: client.post(URL + "/at-once", json=body(number)).text
        client.post(URL + "/json", json=body("that is longer"))
        return "".join(pool.map(ask, range(5)))


def stream():
    with httpx.Client() as client, client.stream("POST", URL + "/events", json=body(0)) as response:
        return "".join(response.iter_text())


async def stream_async():
    async with httpx.AsyncClient() as client, client.stream("POST", URL + "/events", json=body(0)) as response:
        return "".join([text async for text in response.aiter_text()])


def large():
    return str(len(httpx.post(URL + "/large", json=body(0)).content))


def by_requests():
    return requests.post(URL + "/json", json=body(0)).text


def by_urllib3():
    return urllib3.PoolManager().request("POST", URL + "/json", json=body(0)).data.decode()


def refused():
    told = []
    for ask in (requests.post, httpx.post):
        try:
            ask(CLOSED + "/json", json=body(0))
        except Exception as error:
            told.append(type(error).__name__)
    return " ".join(told)


def prompted():
    with httpx.Client() as client:
        first = client.post(URL + "/json", json=body(repr(object()))).text
        return client.post(URL + "/json", json=dict(messages=[dict(role="user", content=[first, str(client)])])).text


def invented():
    import uuid
    called, said = [], []
    for number in range(2):
        call_id = str(uuid.uuid4())
        called.append(dict(functionCall=dict(id=call_id, name="f", args=dict(number=number))))
        said.append(dict(functionResponse=dict(id=call_id, name="f", response=dict(told=number))))
    asked = [dict(role="model", parts=called), dict(role="user", parts=said)]
    return str(len(httpx.post(URL + "/models/m:generateContent", json=dict(contents=asked)).text))


def upload():
    return requests.post(URL + "/json", files=dict(file=("a.txt", b"what it says"))).text


@pytest.fixture
def agent():
    def answer(name):
        return globals()[name]()

    return answer
"""
WAYS = (
    *("httpx_sync", "httpx_async", "openai_async", "threads", "stream", "stream_async", "large"),
    *("by_requests", "by_urllib3", "refused", "prompted", "invented", "upload"),
)
RECORD = ("--record", "--recall-mode=all")
AFRESH = ("httpx_sync", "stream_async", "by_requests", "by_urllib3")
"""Those of them that import no SDK, which takes longer than all else."""
PIECES = 8
AT_ONCE = threading.Barrier(5, timeout=20)
"""Calls that a busy machine makes one after the other were made in an order, which a recording keeps."""


def handle(handler: BaseHTTPRequestHandler) -> None:
    """Answer the same to the same, in pieces that come as they come."""
    asked = handler.rfile.read(int(handler.headers.get("content-length", 0)))
    if handler.path == "/at-once":
        AT_ONCE.wait()
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    if handler.path == "/events":
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for number in range(PIECES):
            event = b'data: {"piece": %d}\n\n' % number
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            time.sleep(random.random() * 0.01)
        handler.wfile.write(b"0\r\n\r\n")
        return
    if handler.path.endswith("generateContent"):
        asked = b"called"
    said = asked.decode("latin-1") if handler.headers["content-type"] == "application/json" else "took a file"
    text = json.dumps({"id": "1", "object": "x", "model": "m", "created": 1, "choices": [], "said": said}).encode()
    text += b" " * 40_000 * (handler.path == "/large")
    handler.send_header("content-length", str(len(text)))
    handler.end_headers()
    for at in range(0, len(text), 5_000):
        handler.wfile.write(text[at : at + 5_000])
        time.sleep(random.random() * 0.01)


@pytest.fixture
def url() -> Iterator[str]:
    """The address of the server."""
    server = Loopback(handle)
    yield server.url
    server.close()


@pytest.fixture
def closed() -> Iterator[str]:
    """An address at which all connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"


def test_one_line_of_each_cassette_differs_however_it_was_recorded(
    pytester: pytest.Pytester, url: str, closed: str
) -> None:
    project = BARE.with_agent(AGENT.format(url=url, closed=closed)).with_cases(*(asking(way) for way in WAYS))
    checkout = project.at(pytester)
    first = recorded(checkout, checkout.run("eval", *RECORD))
    assert set(first) == {f"one/{way}.ndjson" for way in WAYS}
    assert not [name for name, data in first.items() if b" at 0x" in data]
    assert b"recall-id-1" in first["one/invented.ndjson"]
    assert first["one/refused.ndjson"].count(b'"failure":') == 2
    for options in (("-n", "2"), ("--recall-concurrency", "4")):
        again = recorded(checkout, checkout.run("eval", *RECORD, *options))
        assert set(again) == set(first)
        for name, data in first.items():
            assert changed(data, again[name]) == [2], (name, options)
    result = checkout.run("eval", "--replay", "--recall-mode=all", "--recall-concurrency=4")
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert finished(checkout) == again
    # In a process that begins without clients each is imported while the player stands in front of it.
    project.with_files(FORGETTING).at(pytester)
    afresh = recorded(checkout, checkout.run_apart("eval", "-p", "forgetting", *RECORD, "-k", " or ".join(AFRESH)))
    assert {name for name in first if afresh[name] != again[name]} == {f"one/{way}.ndjson" for way in AFRESH}
    for way in AFRESH:
        assert changed(first[f"one/{way}.ndjson"], afresh[f"one/{way}.ndjson"]) == [2], way


def recorded(checkout: Checkout, result: pytest.RunResult) -> dict[str, bytes]:
    """Return the cassettes of a run that has recorded everything."""
    assert result.ret == pytest.ExitCode.OK, result.stdout.str()
    assert not drafts(checkout)
    return finished(checkout)


def changed(one: bytes, other: bytes) -> list[int]:
    """Return the numbers of the lines that differ."""
    pairs = zip(one.split(b"\n"), other.split(b"\n"), strict=True)
    return [number for number, (left, right) in enumerate(pairs, 1) if left != right]
