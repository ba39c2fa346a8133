"""Client: limits are waited for, bad moments are survived, and the token goes nowhere else."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.forge.client import LEAST, Clock, ReadOnlyError, RefusedError, RestClient, UnavailableError, pause
from tests.helpers.github import REPO, TOKEN, Answer, GitHub, failed, first

PATH = f"/repos/{REPO}/issues/7/comments"
NAMED = "GITHUB_API_URL"
SECONDARY = "You have exceeded a secondary rate limit."


class Time:
    """A clock on which only waits take time, and without chance."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def clock(self) -> Clock:
        return Clock(now=lambda: sum(self.waits), wall=lambda: 1_000_000.0, sleep=self.waits.append, roll=lambda: 0.5)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def client(host: GitHub, time: Time) -> Iterator[RestClient]:
    made = RestClient(host.url, {"authorization": f"Bearer {TOKEN}"}, TOKEN, NAMED, patience=120, clock=time.clock())
    yield made
    made.close()


def test_a_list_comes_page_by_page(host: GitHub, client: RestClient) -> None:
    for number in range(5):
        host.says(7, f"text {number}")
    assert [one["body"] for one in client.pages(f"{PATH}?per_page=100")] == [f"text {number}" for number in range(5)]
    assert [path.partition("?")[2] for _, path in host.calls] == [
        "per_page=100",
        "per_page=100&page=2",
        "per_page=100&page=3",
    ]


def test_the_token_is_sent_to_no_other_host(host: GitHub, client: RestClient) -> None:
    link = '<http://127.0.0.1:9/repos?page=2>; rel="next"'
    host.before = lambda method, path: (200, [], {"link": link})
    with pytest.raises(RecallError, match="the next page is at another host"):
        list(client.pages(PATH))


def test_a_list_without_end_is_left(host: GitHub, client: RestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.forge.client.PAGES", 3)
    host.before = lambda method, path: (200, [], {"link": f'<{host.url}/again>; rel="next"'})
    with pytest.raises(RecallError, match="more than 3 pages"):
        list(client.pages(PATH))
    assert len(host.calls) == 3


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        (failed(429, "slow down", retry_after="7"), [7.5]),
        (failed(403, SECONDARY, retry_after="7"), [7.5]),
        (failed(403, SECONDARY), [60.5]),
        (failed(403, "limit", x_ratelimit_remaining="0", x_ratelimit_reset="1000030"), [30.5]),
        (failed(502, "Bad Gateway"), [0.5]),
        ((503, None, {}), [0.5]),
    ],
)
def test_what_is_over_soon_is_waited_for(
    host: GitHub, client: RestClient, time: Time, answer: Answer, waits: list[float]
) -> None:
    host.before = first(answer)
    client.send("POST", PATH, {"body": "text"})
    assert time.waits == waits
    assert host.bodies(7) == ["text"]


@pytest.mark.parametrize(
    ("answer", "why", "tries"),
    [
        (
            failed(429, "slow down", retry_after="3600"),
            r"limits requests \(429\), and asks for 3600 s more, after 1 ",
            1,
        ),
        (failed(429, "slow down", retry_after="50"), r"and asks for 50 s more, after 3 tries in 102 s", 3),
        (failed(502, "Bad Gateway"), r"status 502, after 6 tries in 16 s; start it again later$", 6),
    ],
)
def test_waits_have_an_end(host: GitHub, client: RestClient, answer: Answer, why: str, tries: int) -> None:
    host.before = lambda method, path: answer
    with pytest.raises(UnavailableError, match=why):
        client.send("POST", PATH, {"body": "text"})
    assert len(host.calls) == tries


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (
            failed(401, f"Bad credentials {TOKEN}"),
            RefusedError,
            r"status 401 'Bad credentials \*\*\*'; the token was",
        ),
        (failed(403, "Must have admin rights"), RefusedError, "give the token the permission to write"),
        (failed(403, "Resource not accessible by integration"), ReadOnlyError, "give the job the permission to write"),
        (failed(404, "Not Found"), RefusedError, "the token does not see it, or GITHUB_API_URL is wrong$"),
        (failed(410, "Issues has been disabled"), RefusedError, "switch issues on"),
        (failed(422, "Validation Failed", {"message": "too long"}), RefusedError, "'Validation Failed: too long'"),
        ((400, ["x"], {}), RefusedError, "status 400 "),
        ((301, None, {}), RefusedError, "status 301;"),
    ],
)
def test_what_will_not_change_is_said_at_once(
    host: GitHub, client: RestClient, time: Time, answer: Answer, kind: type[Exception], why: str
) -> None:
    host.before = lambda method, path: answer
    with pytest.raises(kind, match=why) as raised:
        client.send("POST", f"{PATH}?a=b", {"body": "text"})
    assert str(raised.value).startswith(f"POST {PATH}: ")
    assert TOKEN not in str(raised.value)
    assert time.waits == []


def test_nobody_there(host: GitHub, client: RestClient, time: Time) -> None:
    """A host that has never answered is not the right one; one that has may come back."""
    host.before = lambda method, path: (200, [], {"connection": "close"})
    client.send("GET", PATH)
    host.close()
    with pytest.raises(UnavailableError, match=rf"^GET {PATH}: .*after 6 tries"):
        client.send("GET", PATH)
    assert len(time.waits) == 5


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http://127.0.0.1:1", "refused.*"),
        ("http://nowhere.invalid", "Name or service not known"),
        ("here", "Request URL is missing an 'http://' or 'https://' protocol."),
    ],
)
def test_a_wrong_address_is_said_at_once(monkeypatch: pytest.MonkeyPatch, time: Time, url: str, said: str) -> None:
    unknown = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if "invalid" in url:  # Without a network, a name server says that it may know later.
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(unknown))
    client = RestClient(url, {}, TOKEN, NAMED, clock=time.clock())
    with pytest.raises(
        UnavailableError,
        match=rf"^GET /user: .*{said}; correct GITHUB_API_URL, or start it again when a server is there$",
    ):
        client.send("GET", "/user")
    client.close()
    assert time.waits == []


def test_a_name_server_that_is_silent_is_asked_again(monkeypatch: pytest.MonkeyPatch, time: Time) -> None:
    silent = socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(silent))
    client = RestClient("http://nowhere.invalid", {}, TOKEN, NAMED, clock=time.clock())
    with pytest.raises(UnavailableError, match="Temporary failure in name resolution, after 6 tries"):
        client.send("GET", "/user")
    client.close()


def _replying(reply: object, method: str, path: str) -> Answer:
    return 200, reply, {}


def test_a_page_in_place_of_an_api(host: GitHub, client: RestClient) -> None:
    replies: list[object] = ["x", {"items": []}, ["x"], None]
    for reply in replies:
        host.before = partial(_replying, reply)
        with pytest.raises(RecallError, match=rf"^GET {PATH}: the reply is no list of objects; correct {NAMED}$"):
            list(client.pages(f"{PATH}?per_page=100"))
    host.before = lambda method, path: (200, None, {"content-length": "0"})
    assert client.send("GET", PATH) is None
    host.before = lambda method, path: (200, "x", {"content-length": "2"})
    with pytest.raises(RecallError, match=r"^the API replied with something else than JSON; correct GITHUB_API_URL$"):
        client.send("GET", PATH)


def test_a_host_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_recall.forge.client.TIMEOUT", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = RestClient(f"http://127.0.0.1:{silent.getsockname()[1]}", {}, TOKEN, NAMED, patience=0)
        with pytest.raises(UnavailableError, match=r"^GET /user: no reply within 0 s, after 1 tries in "):
            client.send("GET", "/user")
        client.close()


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(RecallError, match=r"^httpx is missing; run `pip install 'pytest-recall\[ci\]'`$"):
        RestClient("http://127.0.0.1:9", {}, TOKEN, NAMED)


# Throttle: what a reply says of limits, and what is none


NOW = 1_000_000.0
SECONDARY_LIMIT = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.mark.parametrize(
    ("status", "headers", "message", "seconds"),
    [
        (429, {"Retry-After": "7"}, "", 7),
        (403, {"Retry-After": "7"}, SECONDARY_LIMIT, 7),
        (429, {}, "", LEAST),
        (403, {}, SECONDARY_LIMIT, LEAST),
        (403, {}, "You have triggered an abuse detection mechanism.", LEAST),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"}, "API rate limit exceeded", 30),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "999990"}, "API rate limit exceeded", 0),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}, "", LEAST),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "inf"}, "", LEAST),
        (429, {"RateLimit-Remaining": "0", "RateLimit-Reset": "1000004"}, "", 4),
    ],
)
def test_a_limit_says_how_long(status: int, headers: dict[str, str], message: str, seconds: float) -> None:
    assert pause(status, headers, message, NOW) == seconds


@pytest.mark.parametrize(
    ("status", "headers", "message"),
    [
        (403, {}, "Resource not accessible by integration"),
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1000030"}, "Resource not accessible by integration"),
        (403, {"X-RateLimit-Remaining": "4990"}, "Must have admin rights"),
        (404, {"Retry-After": "7"}, "Not Found"),
        (502, {"Retry-After": "7"}, ""),
    ],
)
def test_other_refusals_are_no_limit(status: int, headers: dict[str, str], message: str) -> None:
    assert pause(status, headers, message, NOW) is None
