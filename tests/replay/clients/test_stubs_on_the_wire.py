"""requests, urllib3 and http.client: bare against a server, recorded, and replayed without it.

Not here: a body that breaks off, whose error comes with the response (see `vcr_stubs`).
"""

from __future__ import annotations

import functools
import http.client
import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.replay.upstream import Deck
from tests.replay.wire import ENCODINGS, Wire

requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3")
pytest.importorskip("vcr")


def pieces() -> Iterator[bytes]:
    yield b"one "
    yield b"two"


BODIES: dict[str, Callable[[], dict[str, Any]]] = {
    "none": dict,
    "json": lambda: {"json": {"a": [1, "ü"]}},
    "form": lambda: {"data": {"a": "1", "b": "ü"}},
    "bytes": lambda: {"data": b"\x00\xff raw"},
    "multipart": lambda: {"files": {"file": ("a.bin", b"\x00\xff text")}},
    "stream": lambda: {"data": pieces()},
}
REDIRECTS = ("301", "302", "303", "307", "308")
PATHS = [
    *(f"/encoded/{name}" for name in ENCODINGS),
    *("/chunked", "/until-end", "/no-http", "/dropped"),
    *(f"/status/{status}" for status in (200, 204, 304, 404, 429, 500)),
]


def _said(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception as error:
        return type(error).__name__


def _three_times(deck: Deck, wire: Wire, calls: Callable[[], list[Any]]) -> list[Any]:
    """Return what `calls` gives bare, which is what it gives recorded and replayed."""
    bare = calls()
    with deck.recording():
        recorded = calls()
    count = wire.count
    with deck.replaying():
        replayed = calls()
    assert recorded == bare
    assert replayed == bare
    assert wire.count == count, "nothing was asked in the replay"
    return bare


def test_redirects_of_requests(deck: Deck, wire: Wire) -> None:
    cases = list(itertools.product(("GET", "HEAD", "POST", "PUT", "DELETE"), REDIRECTS, BODIES))

    def one(case: tuple[str, str, str]) -> Any:
        method, status, body = case
        with requests.Session() as session:
            response = session.request(
                method, f"{wire.url}/moved/{status}", allow_redirects=True, timeout=5, **BODIES[body]()
            )
        said = response.content
        said = json.loads(said)[::2] if b"form-data" in said else said
        return response.status_code, said, response.request.method, [one.status_code for one in response.history]

    said = _three_times(deck, wire, lambda: [_said(functools.partial(one, case)) for case in cases])
    assert dict(zip(cases, said, strict=True))["PUT", "307", "json"][2] == "PUT"


def test_redirects_of_urllib3(deck: Deck, wire: Wire) -> None:
    def one(case: tuple[str, str]) -> Any:
        with urllib3.PoolManager() as pool:
            response = pool.request(case[0], f"{wire.url}/moved/{case[1]}", body=b"raw", timeout=5)
            return response.status, response.data, len(response.retries.history)

    cases = list(itertools.product(("GET", "HEAD", "POST", "PUT", "DELETE"), REDIRECTS))
    _three_times(deck, wire, lambda: [_said(functools.partial(one, case)) for case in cases])


# A socket of which a part was read is left to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("path", PATHS)
def test_answers_by_the_way_they_are_read(deck: Deck, wire: Wire, path: str) -> None:
    def by_urllib3(read: Callable[[Any], Any], method: str = "POST") -> Any:
        with urllib3.PoolManager(retries=False) as pool:
            response = pool.request(method, wire.url + path, body=b"{}", preload_content=False, timeout=5)
            with closing(response):
                facts = response.status, response.reason, response.headers.get("x-request-id")
                return facts, _said(lambda: read(response))

    def by_requests(read: Callable[[Any], Any]) -> Any:
        with requests.post(wire.url + path, data=b"{}", stream=True, timeout=5) as response:
            return response.status_code, _said(lambda: read(response))

    def by_stdlib(read: Callable[[Any], Any]) -> Any:
        connection = http.client.HTTPConnection(urlsplit(wire.url).netloc, timeout=5)
        with closing(connection):
            connection.request("POST", path, b"{}")
            with connection.getresponse() as response:
                return response.status, response.reason, _said(lambda: read(response))

    def into(response: Any) -> bytes:
        buffer = bytearray(5)
        return bytes(buffer[: response.readinto(buffer)])

    def calls() -> list[Any]:
        return [
            _said(lambda: by_urllib3(lambda response: response.read())),
            _said(lambda: by_urllib3(lambda response: response.read(decode_content=True))),
            _said(lambda: by_urllib3(lambda response: b"".join(response.stream(7)))),
            _said(lambda: by_urllib3(lambda response: response.read(4))),
            _said(lambda: by_urllib3(lambda response: len(response.read1(4)) > 0)),
            _said(lambda: by_urllib3(into)),
            _said(lambda: by_urllib3(lambda response: response.read(), "HEAD")),
            _said(lambda: by_requests(lambda response: response.content)),
            _said(lambda: by_requests(lambda response: list(response.iter_lines()))),
            _said(lambda: by_requests(lambda response: b"".join(response.iter_content(5)))),
            _said(lambda: by_stdlib(lambda response: response.read())),
            _said(lambda: by_stdlib(lambda response: response.read(4))),
            _said(lambda: by_stdlib(lambda response: response.readline())),
            _said(lambda: by_stdlib(into)),
        ]

    _three_times(deck, wire, calls)
