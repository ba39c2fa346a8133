"""One call to an upstream: its ends, its headers, and what a trial keeps of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import KINDS, Call, Exchange, Request, Response, Tokens, error_replies, is_outage
from tests.replay.upstream import Deck, Upstream


def test_a_body_is_its_chunks_in_one() -> None:
    assert Response(200, chunks=(b"a", b"", b"bc")).body == b"abc"
    assert Response(200).body == b""


@pytest.mark.parametrize("name", ["content-type", "Content-Type", "CONTENT-TYPE"])
def test_a_header_is_found_whatever_its_case_and_the_first_counts(name: str) -> None:
    response = Response(200, headers=(("x", "1"), ("Content-Type", "a"), ("content-type", "b")))
    assert response.header(name) == "a"
    assert response.header("content") is None


def test_a_response_is_whole_unless_it_says_otherwise() -> None:
    exchange = Exchange("k", 0, "agent", Request("GET", "http://x/"), Response(200))
    assert exchange.response is not None
    assert exchange.response.complete
    assert exchange.failure is None


@pytest.mark.parametrize("end", ["http-500", "http-429", "http-408", "ReadTimeout"])
def test_an_outage_says_nothing_of_what_was_asked(end: str) -> None:
    assert is_outage(end)
    assert error_replies([Call("agent", "live", trouble=end)] * 2) == [end]
    assert error_replies([Call("agent", "live", trouble=end, retried=True), Call("judge", "live", trouble=end)]) == []


@pytest.mark.parametrize("end", ["", "http-400", "http-404", "cut-off", "refused"])
def test_an_answer_is_no_outage(end: str) -> None:
    assert not is_outage(end)
    assert error_replies([Call("agent", "live", trouble=end)]) == []


Get = Callable[..., tuple[list[Any], Any]]
TEXT = b"0123456789"


class Pages(Upstream):
    """Three pages, each of which names the next; a session that goes by its cookie; a file in parts."""

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes, number: int) -> None:
        """Answer by the path, the cookie and the range."""
        path, _, query = handler.path.partition("?")
        status, headers, data = 200, list[tuple[str, str]](), b""
        if path == "/file":
            start, end = map(int, handler.headers["range"].removeprefix("bytes=").split("-"))
            status, data = 206, TEXT[start : end + 1]
            headers = [("content-range", f"bytes {start}-{end}/10"), ("etag", '"f1"')]
            headers += [("content-disposition", 'attachment; filename="f.txt"')]
        else:
            page = int(query.partition("page=")[2] or 1)
            signed_in = "sid=secret-of-the-session" in (handler.headers.get("cookie") or "")
            data = json.dumps({"page": page, "signed_in": signed_in}).encode()
            headers = [("content-type", "application/json"), ("x-total-count", "3"), ("x-ratelimit-remaining", "9")]
            headers += [("set-cookie", "sid=secret-of-the-session; Path=/; HttpOnly"), ("set-cookie", "theme=dark")]
            if page < 3:
                headers += [("link", f'<{self.url}/items?page={page + 1}>; rel="next"')]
        handler.send_response(status)
        for name, value in (*headers, ("content-length", str(len(data)))):
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


@pytest.fixture
def pages() -> Iterator[Pages]:
    """Such a server."""
    server = Pages()
    yield server
    server.close()


def _every(client: Any, url: str) -> tuple[list[Any], Any]:
    """Return all pages by a client of requests or of httpx, which are used alike, and the last response."""
    found, response = [], None
    with client:
        while url:
            response = client.get(url)
            found.append(response.json())
            url = response.links.get("next", {}).get("url", "")
    return found, response


def by_requests(url: str) -> tuple[list[Any], Any]:
    """Return all pages, and the last response."""
    return _every(pytest.importorskip("requests").Session(), url)


def by_httpx(url: str) -> tuple[list[Any], Any]:
    """Return all pages, and the last response."""
    return _every(pytest.importorskip("httpx").Client(), url)


def by_aiohttp(url: str) -> tuple[list[Any], Any]:
    """Return all pages, and the last response."""
    aiohttp = pytest.importorskip("aiohttp")

    async def every(place: Any) -> tuple[list[Any], Any]:
        found, response = [], None
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            while place:
                async with session.get(place) as response:
                    found.append(await response.json())
                    place = response.links.get("next", {}).get("url")
        return found, response

    return asyncio.run(every(url))


@pytest.mark.parametrize("every", [by_requests, by_httpx, by_aiohttp])
def test_pages_and_cookies_are_replayed(deck: Deck, pages: Pages, every: Get) -> None:
    url = f"{pages.url}/items"
    with deck.recording():
        recorded, last = every(url)
    assert recorded == [{"page": n, "signed_in": n > 1} for n in (1, 2, 3)]
    assert b"secret-of-the-session" not in deck.path.read_bytes()
    pages.close()
    with deck.replaying():
        replayed, again = every(url)
    assert replayed == recorded
    assert deck.tape.unused() == []
    for name in ("x-total-count", "x-ratelimit-remaining"):
        assert again.headers[name] == last.headers[name]


def test_parts_of_a_file_are_told_apart(deck: Deck, pages: Pages) -> None:
    httpx = pytest.importorskip("httpx")

    def part(start: int, end: int) -> Any:
        return httpx.get(f"{pages.url}/file", headers={"Range": f"bytes={start}-{end}"})

    with deck.recording():
        assert (part(0, 4).content, part(5, 9).content) == (TEXT[:5], TEXT[5:])
    pages.close()
    with deck.replaying():
        second, first = part(5, 9), part(0, 4)
        assert (first.content, second.content) == (TEXT[:5], TEXT[5:])
        assert first.headers["content-range"] == "bytes 0-4/10"
        assert first.headers["etag"] == '"f1"'
        assert first.headers["content-disposition"] == 'attachment; filename="f.txt"'
        with pytest.raises(MissError, match=r"header range: “bytes=\d-\d” → “bytes=0-5”"):
            part(0, 5)


def test_another_operation_of_boto3_is_another_call(deck: Deck, upstream: Upstream) -> None:
    boto3 = pytest.importorskip("boto3")
    client = boto3.client(
        "dynamodb", "us-east-1", endpoint_url=upstream.url, aws_access_key_id="x", aws_secret_access_key="y"
    )
    with deck.recording():
        client.describe_table(TableName="t")
    upstream.close()
    with deck.replaying():
        client.describe_table(TableName="t")
    with deck.replaying(), pytest.raises(MissError, match=r"header x-amz-target: .*DescribeTable” → .*DeleteTable”"):
        client.delete_table(TableName="t")


def test_a_recording_without_these_headers_is_replayed(deck: Deck, upstream: Upstream) -> None:
    """Whether it was asked with them is unknown: it was made before they were stored."""
    httpx = pytest.importorskip("httpx")

    def ask(language: str) -> Any:
        return httpx.post(f"{upstream.url}/chat", json={"q": 1}, headers={"Accept-Language": language})

    with deck.recording():
        ask("de")
    first, *rest = deck.path.read_bytes().splitlines(keepends=True)
    header = json.loads(first)
    deck.path.write_bytes(b"".join(resealed(header, rest)))
    upstream.close()
    with deck.replaying():
        assert ask("fr").json()["number"] == 1


def resealed(header: dict[str, Any], rest: list[bytes]) -> list[bytes]:
    """Return the lines of a cassette as they were before its header named the headers by which calls are matched."""
    from pytest_recall.replay.cassette_lines import sealed

    lines = [sealed({name: value for name, value in header.items() if name not in ("crc", "headers")}), *rest[:-1]]
    end = {name: value for name, value in json.loads(rest[-1]).items() if name not in ("crc", "sum")}
    return [*lines, sealed(end)]


counts = st.none() | st.integers(0, 10**9)
tokens = st.builds(Tokens, counts, counts, counts, counts)
calls = st.builds(
    Call,
    kind=st.sampled_from(KINDS),
    source=st.sampled_from(["live", "replayed"]),
    model=st.none() | st.text(),
    provider=st.none() | st.text(),
    tokens=st.none() | tokens,
    cost=st.none() | st.floats(0, 1e6),
    seconds=st.floats(0, 1e6),
    batched=st.booleans(),
)


@given(calls)
def test_the_way_through_json_changes_nothing(call: Call) -> None:
    assert Call.from_json(json.loads(json.dumps(call.to_json()))) == call


def test_what_is_unknown_is_left_out_and_is_not_zero() -> None:
    call = Call("agent", "live", tokens=Tokens(input=0, output=3))
    assert call.to_json() == {"kind": "agent", "source": "live", "tokens": {"input": 0, "output": 3}, "seconds": 0.0}


def test_fields_of_a_later_version_are_passed_over() -> None:
    plain = {"kind": "judge", "source": "live", "seconds": 1.0, "mood": "fine", "tokens": {"input": 1, "dreams": 2}}
    assert Call.from_json(plain) == Call("judge", "live", tokens=Tokens(input=1), seconds=1.0)


@pytest.mark.parametrize("plain", [{"kind": "agent", "source": 3}, {"kind": "agent"}, {"kind": None, "source": "live"}])
def test_what_no_version_has_written_is_refused(plain: dict[str, object]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Call.from_json(plain)
