"""http.client and what asks by it: bare against a server, recorded, and replayed without it. All three are the same."""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import itertools
import json
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from pytest_recall.files.errors import MissError
from pytest_recall.replay.exchange import STORED_RESPONSE
from pytest_recall.replay.player import Player
from pytest_recall.replay.watch import install
from tests.replay.upstream import Deck
from tests.replay.wire import ENCODINGS, EVENTS, Proxy, Wire, certified

requests = pytest.importorskip("requests")
urllib3 = pytest.importorskip("urllib3")
awsrequest = pytest.importorskip("botocore.awsrequest")
httpsession = pytest.importorskip("botocore.httpsession")

METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
REDIRECTS = ("301", "302", "303", "307", "308")
SECONDS = 0.3


def pieces() -> Iterator[bytes]:
    yield b"one "
    yield b"two"


class Body(NamedTuple):
    data: Any = None
    content_type: str = ""
    is_chunked: bool = False


MULTIPART = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.bin"\r\n\r\n\x00\xff text\r\n--x--\r\n'
BODIES: dict[str, Callable[[], Body]] = {
    "none": Body,
    "json": lambda: Body(json.dumps({"a": [1, "ü"]}).encode(), "application/json"),
    "form": lambda: Body(b"a=1&b=%C3%BC", "application/x-www-form-urlencoded"),
    "bytes": lambda: Body(b"\x00\xff raw"),
    "multipart": lambda: Body(MULTIPART, "multipart/form-data; boundary=x"),
    "file": lambda: Body(io.BytesIO(b"out of a file"), "text/plain"),
    "stream": lambda: Body(pieces(), "text/plain", is_chunked=True),
}
Ask = Callable[[str, str, Body], Any]


def _head(status: int, reason: str | None, url: str | None, headers: Iterable[tuple[str, str]]) -> tuple[Any, ...]:
    # Without what is said of the length of a body, which is not recorded.
    return status, reason, url, sorted({name.lower() for name, _ in headers} & STORED_RESPONSE)


def by_requests(method: str, url: str, body: Body) -> Any:
    headers = {"content-type": body.content_type} if body.content_type else {}
    with requests.Session() as session:
        made = session.request(method, url, data=body.data, headers=headers, allow_redirects=True, timeout=5)
        history = [(one.status_code, one.url) for one in made.history]
        head = _head(made.status_code, made.reason, made.url, made.headers.items())
        # The value of a cookie is not recorded.
        return *head, made.content, made.request.method, history, list(session.cookies.get_dict())


def by_urllib3(method: str, url: str, body: Body) -> Any:
    headers = {"content-type": body.content_type} if body.content_type else {}
    with urllib3.PoolManager() as pool:
        made = pool.request(method, url, body=body.data, headers=headers, timeout=5)
        return *_head(made.status, made.reason, made.geturl(), made.headers.items()), made.data, made.retries.history


def by_urllib_request(method: str, url: str, body: Body) -> Any:
    headers = {"content-type": body.content_type} if body.content_type else {}
    with urllib.request.urlopen(urllib.request.Request(url, body.data, headers, method=method), timeout=5) as made:
        return *_head(made.status, made.reason, made.geturl(), made.getheaders()), made.read()


def by_http_client(method: str, url: str, body: Body) -> Any:
    place = urlsplit(url)
    with closing(http.client.HTTPConnection(place.netloc, timeout=5)) as connection:
        # What a redirect leads to is asked for on the same connection.
        for path in (place.path, "/echo"):
            headers = {"content-type": body.content_type} if body.content_type else {}
            connection.request(method, path, body.data, headers, encode_chunked=body.is_chunked)
            made = connection.getresponse()
            said = *_head(made.status, made.reason, made.geturl(), made.getheaders()), made.read(), made.getheader("x")
            body = Body()
        return said


def by_botocore(method: str, url: str, body: Body) -> Any:
    headers = {"content-type": body.content_type} if body.content_type else {}
    with closing(httpsession.URLLib3Session(timeout=5)) as session:
        asked = awsrequest.AWSRequest(method, url, headers, body.data)
        if body.data is not None and method != "GET":
            asked.headers["Expect"] = "100-continue"
        made = session.send(asked.prepare())
        return *_head(made.status_code, "", made.url, made.headers.items()), made.content


def by_httplib2(method: str, url: str, body: Body) -> Any:
    httplib2 = pytest.importorskip("httplib2")
    headers = {"content-type": body.content_type} if body.content_type else {}
    with closing(httplib2.Http(timeout=5)) as client:
        made, content = client.request(url, method, body.data, headers)
        return made.status, made.reason, made.get("content-location"), content, made.previous is None


ASKS: dict[str, Ask] = {
    "requests": by_requests,
    "urllib3": by_urllib3,
    "urllib.request": by_urllib_request,
    "http.client": by_http_client,
    "botocore": by_botocore,
    "httplib2": by_httplib2,
}
every_client = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)


def _said(ask: Callable[[], Any]) -> Any:
    """Return what `ask` returns, or the error that it ends with."""
    try:
        return ask()
    except Exception as error:
        if isinstance(error, urllib.error.HTTPError):
            with error:
                return error.code, error.read()
        return type(error).__name__, str(error)


def _three_times(deck: Deck, wire: Wire | Callable[[], int], calls: Callable[[], list[Any]]) -> list[Any]:
    """Return what `calls` gives bare, which is what it gives recorded and replayed."""
    bare = calls()
    with deck.recording():
        recorded = calls()
    count = wire.count if isinstance(wire, Wire) else wire()
    with deck.replaying():
        replayed = calls()
    assert recorded == bare
    assert replayed == bare
    assert (wire.count if isinstance(wire, Wire) else wire()) == count, "nothing was asked in the replay"
    assert deck.tape.unused() == []
    return bare


@every_client
def test_redirects_by_method_and_body(deck: Deck, wire: Wire, ask: Ask) -> None:
    cases = list(itertools.product(METHODS, REDIRECTS, BODIES))

    def one(case: tuple[str, str, str]) -> Any:
        method, status, body = case
        return ask(method, f"{wire.url}/moved/{status}", BODIES[body]())

    said = dict(
        zip(
            cases,
            _three_times(deck, wire, lambda: [_said(functools.partial(one, case)) for case in cases]),
            strict=True,
        )
    )
    if ask is by_requests:
        assert json.loads(said["PUT", "307", "json"][4])[:2] == ["PUT", '{"a": [1, "\\u00fc"]}']
        assert json.loads(said["POST", "302", "json"][4])[:2] == ["GET", ""]
        assert said["POST", "308", "file"][4] == said["POST", "307", "file"][4]
    if ask is by_urllib3:
        assert said["GET", "301", "none"][2] == "/echo"


Reading = Callable[[Any], Any]


def _pieces(parts: Iterable[Any]) -> Any:
    """Return the pieces that came, with the error that they end with."""
    found = []
    try:
        for part in parts:
            found.append(part)
    except Exception as error:
        found.append((type(error).__name__, str(error)))
    return found


def _into(response: Any) -> bytes:
    buffer = bytearray(5)
    return bytes(buffer[: response.readinto(buffer)])


STDLIB: tuple[Reading, ...] = (
    lambda response: response.read(),
    lambda response: response.read(4),
    lambda response: (response.read(4), response.read(99), response.read()),
    lambda response: response.readline(),
    lambda response: _pieces(response),
    lambda response: len(response.read1(4)),
    lambda response: response.length != 0 and len(response.peek(1)) > 0,
    _into,
    lambda response: (response.status, response.reason, response.isclosed()),
)
URLLIB3: tuple[Reading, ...] = (
    *STDLIB[:4],
    lambda response: response.read(decode_content=True),
    lambda response: response.read(decode_content=False),
    lambda response: _pieces(response.stream(7)),
    lambda response: _pieces(response.stream(None, decode_content=False)),
    lambda response: _pieces(response),
    lambda response: _pieces(response.read_chunked(4)) if response.chunked else None,
    lambda response: len(response.read1(4)),
    _into,
    lambda response: response.drain_conn(),
    lambda response: response.release_conn(),
)
REQUESTS: tuple[Reading, ...] = (
    lambda response: response.content,
    lambda response: response.text,
    lambda response: response.json(),
    lambda response: _pieces(response.iter_lines()),
    lambda response: _pieces(response.iter_content(5)),
    lambda response: _pieces(response.iter_content(None)),
    lambda response: response.raw.read(4),
    lambda response: response.raise_for_status(),
    lambda response: response.close(),
)
BOTOCORE: tuple[Reading, ...] = (
    lambda response: response.content,
    lambda response: response.raw.read(4),
    lambda response: _pieces(response.raw.stream(7)),
)
PATHS = [
    *(f"/encoded/{name}" for name in ENCODINGS),
    *("/chunked", "/chunked/broken", "/chunked/cut", "/short", "/until-end", "/no-http", "/dropped"),
    *(f"/status/{status}" for status in (200, 204, 304, 404, 429, 500)),
]


@pytest.mark.parametrize("path", PATHS)
def test_answers_by_the_way_they_are_read(deck: Deck, wire: Wire, path: str) -> None:
    url = wire.url + path

    def by_urllib3(read: Reading, method: str = "POST", **kwargs: Any) -> Any:
        with urllib3.PoolManager(retries=False) as pool:
            response = pool.request(method, url, body=b"{}", timeout=5, preload_content=False, **kwargs)
            with closing(response):
                return (
                    response.status,
                    response.reason,
                    response.headers.get("x-request-id"),
                    _said(lambda: read(response)),
                )

    def preloaded(**kwargs: Any) -> Any:
        with urllib3.PoolManager(retries=False) as pool:
            return pool.request("POST", url, body=b"{}", timeout=5, **kwargs).data

    def by_requests(read: Reading) -> Any:
        with requests.post(url, data=b"{}", stream=True, timeout=5) as response:
            return response.status_code, _said(lambda: read(response))

    def by_stdlib(read: Reading, method: str = "POST") -> Any:
        with closing(http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)) as connection:
            connection.request(method, path, b"{}")
            with connection.getresponse() as response:
                return _said(lambda: read(response))

    def by_urllib_request(read: Reading) -> Any:
        with urllib.request.urlopen(url, b"{}", timeout=5) as response:
            return response.status, _said(lambda: read(response))

    def by_botocore(read: Reading, *, is_streamed: bool) -> Any:
        with closing(httpsession.URLLib3Session(timeout=5)) as session:
            asked = awsrequest.AWSRequest("POST", url, {}, b"{}", stream_output=is_streamed)
            response = session.send(asked.prepare())
            with closing(response.raw):
                return response.status_code, _said(lambda: read(response))

    def calls() -> list[Any]:
        partial = functools.partial
        asks: list[Callable[[], Any]] = [
            *(partial(by_urllib3, read) for read in URLLIB3),
            partial(by_urllib3, URLLIB3[0], "HEAD"),
            partial(by_urllib3, URLLIB3[0], decode_content=False),
            preloaded,
            partial(preloaded, decode_content=False),
            *(partial(by_requests, read) for read in REQUESTS),
            *(partial(by_stdlib, read) for read in STDLIB),
            partial(by_stdlib, STDLIB[0], "HEAD"),
            *(partial(by_urllib_request, read) for read in STDLIB[:5]),
            *(partial(by_botocore, read, is_streamed=True) for read in BOTOCORE),
            partial(by_botocore, BOTOCORE[0], is_streamed=False),
        ]
        return [_said(ask) for ask in asks]

    said = _three_times(deck, wire, calls)
    if path == "/chunked/broken":
        assert said[7][-1][:3] == EVENTS, "what came before the break"
        assert said[7][-1][3][0] == "ProtocolError"


@pytest.mark.parametrize("path", ["/slow", "/slow-body", "/slow-chunks", "connect"])
def test_a_time_that_is_over(deck: Deck, wire: Wire, path: str) -> None:
    with _full() if path == "connect" else contextlib.nullcontext(wire.url + path) as url:

        def calls() -> list[Any]:
            def read_urllib3() -> Any:
                with urllib3.PoolManager(retries=False) as pool:
                    response = pool.request("POST", url, body=b"{}", timeout=SECONDS, preload_content=False)
                    with closing(response):
                        return _pieces(response.stream(None))

            def read_requests() -> Any:
                with requests.post(url, data=b"{}", timeout=SECONDS, stream=True) as response:
                    return _pieces(response.iter_lines())

            def read_urllib_request() -> Any:
                with urllib.request.urlopen(url, b"{}", timeout=SECONDS) as response:
                    return _pieces(response)

            def read_botocore() -> Any:
                with closing(httpsession.URLLib3Session(timeout=SECONDS)) as session:
                    return session.send(awsrequest.AWSRequest("POST", url, {}, b"{}").prepare()).content

            said = [_said(ask) for ask in (read_urllib3, read_requests, read_urllib_request, read_botocore)]
            # Errors of connecting hold the connection, which a recorded error has not.
            return [one[0] for one in said] if path == "connect" else said

        said = _three_times(deck, wire, calls)
    if path == "/slow-chunks":
        assert [said[1][0], said[1][-1][0]] == [b"data: one", "ConnectionError"]
    if path == "connect":
        assert said == ["ConnectTimeoutError", "ConnectTimeout", "URLError", "ConnectTimeoutError"]


@contextlib.contextmanager
def _full() -> Iterator[str]:
    """Give the URL of a server that takes no more connections."""
    with socket.socket() as server, contextlib.ExitStack() as waiting:
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(server.getsockname())
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@every_client
def test_an_upstream_that_is_not_there(deck: Deck, ask: Ask) -> None:
    with socket.socket() as taken:  # Bound, and listening to nobody.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/"
        (said,) = _three_times(deck, lambda: 0, lambda: [_said(lambda: ask("POST", url, BODIES["json"]()))])
    assert said[0] in (
        "ConnectionError",
        "ConnectionRefusedError",
        "EndpointConnectionError",
        "MaxRetryError",
        "URLError",
    )


@every_client
def test_a_session_that_is_over_is_in_the_way_of_none(deck: Deck, ask: Ask) -> None:
    past = Player("replay")
    undo = install(past)
    past.end(lambda: False, lambda message: None)
    try:
        test_an_upstream_that_is_not_there(deck, ask)
    finally:
        while undo:
            undo.pop()()


def test_an_event_is_there_before_the_end(deck: Deck, wire: Wire) -> None:
    def calls() -> list[Any]:
        with requests.post(f"{wire.url}/slow-chunks", data=b"{}", stream=True, timeout=5) as response:
            line = next(response.iter_lines())
        with urllib.request.urlopen(f"{wire.url}/slow-chunks", b"{}", timeout=5) as answer:
            return [line, answer.readline()]

    assert _three_times(deck, wire, calls) == [b"data: one", b"data: one\n"]
    assert [call.response and call.response.complete for call in deck.calls()] == [False, False]


def test_who_reads_on_than_the_recorded_client_is_told(deck: Deck, wire: Wire) -> None:
    def read(count: int) -> None:
        with requests.post(f"{wire.url}/slow-chunks", data=b"{}", stream=True, timeout=5) as response:
            list(itertools.islice(response.iter_content(None), count))

    with deck.recording():
        read(1)
    with deck.replaying(), pytest.raises(MissError, match="read on where the recorded client had closed"):
        read(2)


def test_one_connection_for_recorded_and_live_calls(deck: Deck, wire: Wire) -> None:
    connection = http.client.HTTPConnection(urlsplit(wire.url).netloc, timeout=5)

    def ask(body: bytes) -> bytes:
        connection.request("POST", "/echo", body)
        return connection.getresponse().read()

    with closing(connection):
        bare = ask(b"before")
        with deck.recording() as player:
            player.know({"judge": "live"})
            recorded = [ask(b"1"), ask(b"2")]
            with player.asking("judge"):
                ask(b"judge")
        assert wire.connections == 1
        count = wire.count
        with deck.replaying() as player:
            player.know({"judge": "live"})
            assert ask(b"1") == recorded[0]
            with player.asking("judge"):
                assert b"judge" in ask(b"judge")
            assert ask(b"2") == recorded[1]
        assert (wire.count, wire.connections) == (count + 1, 1)
        assert ask(b"before") == bare


def test_a_connection_that_sends_by_hand(deck: Deck, wire: Wire) -> None:
    def calls() -> list[Any]:
        with closing(http.client.HTTPConnection(urlsplit(wire.url).netloc, timeout=5)) as connection:
            connection.connect()
            connection.sock.settimeout(5)
            connection.putrequest("POST", "/echo")
            connection.putheader("content-length", "7")
            connection.putheader("X-Folded", "a", "b")
            connection.endheaders()
            for piece in (b"by ", b"hand"):
                connection.send(piece)
            return [json.loads(connection.getresponse().read())]

    assert _three_times(deck, wire, calls) == [["POST", "by hand", ""]]


def test_a_socket_in_the_file_system_is_left_alone(deck: Deck) -> None:
    """As those of a class that opens them by itself, such as docker's."""

    class Connection(http.client.HTTPConnection):
        def connect(self) -> None:
            self.sock, other = socket.socketpair()
            opened.callback(other.close)
            other.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nhere")

    for running in (deck.recording, deck.replaying):
        with running(), contextlib.ExitStack() as opened:
            own, given = Connection("localhost"), http.client.HTTPConnection("localhost")
            Connection.connect(given)  # type: ignore[arg-type]
            for connection in (own, given):
                with closing(connection):
                    connection.request("GET", "/")
                    assert connection.getresponse().read() == b"here"
    assert deck.calls() == []


def test_players_that_stand_before_one_another(deck: Deck, wire: Wire, tmp_path: Path) -> None:
    """As those of a session that a test runs within another one: each hears what the other lets through."""
    (tmp_path / "inner").mkdir()
    inner = Deck(tmp_path / "inner")
    with requests.Session() as session:

        def ask(text: bytes) -> bytes:
            return bytes(session.post(f"{wire.url}/echo", data=text, timeout=5).content)

        def calls() -> list[bytes]:
            with deck.recording() if not deck.path.exists() else deck.replaying():
                before = ask(b"1")
                with inner.recording() if not inner.path.exists() else inner.replaying():
                    within = [ask(b"2"), requests.post(f"{wire.url}/echo", data=b"3", timeout=5).content]
                return [before, *within, ask(b"4")]

        recorded, count = calls(), wire.count
        assert [call.request.body for call in deck.calls()] == [b"1", b"2", b"3", b"4"]
        assert [call.request.body for call in inner.calls()] == [b"2", b"3"]
        assert calls() == recorded
    assert wire.count == count


def test_a_websocket_is_never_recorded_and_refused_in_a_replay(deck: Deck, wire: Wire) -> None:
    def connect() -> int:
        with requests.get(f"{wire.url}/echo", headers={"connection": "upgrade", "upgrade": "websocket"}) as response:
            return int(response.status_code)

    with deck.recording() as player:
        assert connect() == 200
        assert player.unseen == ["websocket"]
    assert deck.calls() == []
    with deck.replaying(), pytest.raises(MissError, match="a websocket did not open"):
        connect()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certified(tmp_path_factory.mktemp("tls"))


def test_https_and_a_proxy(deck: Deck, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of a call through a tunnel is the URL of what it is for."""
    secure, plain, proxy = Wire(certificate), Wire(), Proxy()
    monkeypatch.setenv("no_proxy", "")
    context = ssl.create_default_context(cafile=str(certificate))

    def by_urllib3(pool: Any) -> Any:
        with pool:
            return [
                pool.request("POST", f"{wire.url}/echo", body=b"{}", timeout=5).data for wire in (secure, plain, secure)
            ]

    def by_requests(**kwargs: Any) -> Any:
        with requests.Session() as session:
            return [
                session.post(f"{wire.url}/echo", data=b"{}", timeout=5, **kwargs).content for wire in (secure, plain)
            ]

    def by_urllib_request() -> Any:
        handlers = urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
        opener = urllib.request.build_opener(*handlers)
        found = []
        for wire in (secure, plain):
            with opener.open(f"{wire.url}/echo", b"{}", timeout=5) as response:
                found.append(response.read())
        return found

    def by_botocore() -> Any:
        with closing(httpsession.URLLib3Session(verify=str(certificate), proxies=proxies, timeout=5)) as session:
            return session.send(awsrequest.AWSRequest("POST", f"{secure.url}/echo", {}, b"{}").prepare()).content

    proxies = {"http": proxy.url, "https": proxy.url}

    def calls() -> list[Any]:
        return [
            by_urllib3(urllib3.PoolManager(ssl_context=context)),
            by_urllib3(urllib3.ProxyManager(proxy.url, ssl_context=context)),
            by_requests(verify=str(certificate)),
            by_requests(verify=str(certificate), proxies=proxies),
            by_urllib_request(),
            by_botocore(),
            _said(lambda: by_requests(proxies=proxies))[0],
            _said(by_requests)[0],
            _said(lambda: urllib.request.urlopen(f"{secure.url}/echo", b"{}", timeout=5)),
        ]

    try:
        said = _three_times(deck, lambda: secure.count + plain.count + proxy.count, calls)
    finally:
        for server in (secure, plain, proxy):
            server.close()
    assert said[-3:-1] == ["SSLError", "SSLError"]
    assert said[-1][0] == "URLError"
    assert {call.request.url for call in deck.calls()} == {f"{secure.url}/echo", f"{plain.url}/echo"}
