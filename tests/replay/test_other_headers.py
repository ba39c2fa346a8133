"""Headers beyond those that are stored: which count, what is written of them, and in what two requests differ."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recall.replay.differences import DifferenceKind, RequestDifference
from pytest_recall.replay.equality import header_differences
from pytest_recall.replay.exchange import DESCRIBING, MATCHED, Headers, Request, asking
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.other_headers import CLIENT, CREDENTIAL, TRACING, counts, digest_of, other_headers
from pytest_recall.replay.redaction import Redactor
from tests.replay.http_clients import CLIENTS, Post
from tests.replay.upstream import Deck, Upstream

ROOT = Path(__file__).parents[2]
RULES = Rules()
NONE = Redactor({})
STORED = MATCHED | DESCRIBING

names = st.sampled_from(["x-variant", "X-Tenant", "x-title", "cf-aig-cache-ttl", "x-use-cache"])
values = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=40)
headers = st.lists(st.tuples(names, values), max_size=5).map(tuple)


def others(*given: tuple[str, str], rules: Rules = RULES, redactor: Redactor = NONE) -> dict[str, str]:
    """Return what is written of headers that are not stored."""
    return dict(other_headers(given, STORED, rules, redactor))


def recorded(*given: tuple[str, str], rules: Rules = RULES, redactor: Redactor = NONE) -> Request:
    """Return a request as a recording has it."""
    stored = tuple((name, value) for name, value in given if name.lower() in STORED)
    return Request("POST", "http://x/", stored, others=other_headers(given, STORED, rules, redactor))


def differences(
    before: Headers, after: Headers, rules: Rules = RULES, redactor: Redactor = NONE
) -> list[RequestDifference]:
    """Return in what two requests differ, of which the first was recorded."""
    now = Request("POST", "http://x/", after)
    return header_differences(recorded(*before, rules=rules, redactor=redactor), now, rules, redactor)


class TestWhatCounts:
    """All but three lists."""

    @pytest.mark.parametrize(
        "name",
        [
            *("authorization", "x-api-key", "x-tenant-token", "helicone-auth", "x-portkey-api-key", "cookie"),
            *("cf-aig-authorization", "x-hub-signature-256", "x-user-pin"),
            *("user-agent", "x-amz-user-agent", "x-stripe-client-user-agent", "x-ms-useragent", "host", "x-amz-date"),
            *("x-stainless-runtime-version", "x-fern-sdk-version", "x-goog-api-client", "expect", "te"),
            *("amz-sdk-invocation-id", "x-amz-checksum-crc32", "content-length", "accept-encoding", "lang_version"),
            *("traceparent", "x-b3-traceid", "x-request-id", "request-id", "x-ms-client-request-id", "x-run-id"),
            *("x-datadog-parent-id", "sentry-trace", "x-amzn-trace-id", "idempotency-key", "mcp-session-id"),
        ],
    )
    def test_client_account_and_run_do_not(self, name: str) -> None:
        assert not counts(name)
        assert others((name.title(), "any")) == {}
        assert differences(((name, "one"),), ((name, "other"),)) == differences(((name, "one"),), ()) == []

    @pytest.mark.parametrize(
        "name",
        [
            *("x-variant", "x-tenant", "x-title", "cf-aig-cache-ttl", "helicone-property-app", "x-use-cache", "lang"),
            *("openai-organization", "openai-project", "x-goog-user-project", "x-hf-bill-to", "chatgpt-account-id"),
            *("priority", "system", "x-server-timeout"),
        ],
    )
    def test_all_else_does(self, name: str) -> None:
        assert counts(name)
        assert others((name.title(), "any")) == {name: digest_of("any")}

    def test_no_list_names_what_is_matched(self) -> None:
        assert [name for name in MATCHED if not counts(name)] == []

    @pytest.mark.parametrize("listed", [CREDENTIAL, CLIENT, TRACING])
    def test_each_list_is_a_row_of_the_docs(self, listed: frozenset[str]) -> None:
        text = (ROOT / "docs/reference/replay.md").read_text(encoding="utf-8")
        names = ", ".join(f"`{name}`" for name in sorted(listed))
        assert f"| {names} |\n" in text, f"write this row into the docs: {names}"

    def test_the_lists_are_in_lower_case_and_name_each_once(self) -> None:
        every = [*CREDENTIAL, *CLIENT, *TRACING]
        assert [name for name in every if name != name.lower()] == []
        assert len(every) == len(set(every))


class TestDigests:
    """Equal for equal values, and no more than that."""

    @given(headers, headers)
    def test_they_are_equal_where_the_values_are(self, one: Headers, other: Headers) -> None:
        told, among = (others(*given) for given in (one, other))
        assume("" not in (*told.values(), *among.values()))
        every = {name.lower() for name, _ in (*one, *other)}
        assert (told == among) is (asking(one, every) == asking(other, every))

    @given(st.text(st.characters(min_codepoint=33, max_codepoint=255), min_size=7, max_size=60))
    def test_they_hold_no_value(self, value: str) -> None:
        [digest] = others(("x-variant", value)).values() or [""]
        assert value not in digest
        assert len(digest) in (0, 6)

    @given(headers, headers)
    def test_requests_differ_where_their_headers_do(self, before: Headers, after: Headers) -> None:
        told = (others(*before), others(*after))
        assume("" not in (*told[0].values(), *told[1].values()))
        assert differences(before, before) == []
        named = [one.path.removeprefix("header ") for one in differences(before, after)]
        assert named == sorted(name for name in {**told[0], **told[1]} if told[0].get(name) != told[1].get(name))

    def test_several_of_one_name_are_one_value(self) -> None:
        assert others(("x-tag", "a"), ("X-Tag", "b")) == others(("x-tag", "a, b")) == {"x-tag": digest_of("a,b")}

    def test_they_are_the_same_in_each_version(self) -> None:
        assert digest_of("a") == "ddcf9b"


SECRET = "correct-horse-battery"


class TestSecrets:
    """Nothing is written of what may be a secret, in no form: there is not even a digest to try guesses on."""

    @pytest.mark.parametrize(
        "value",
        [
            SECRET,
            f"v1 {SECRET}",
            "sk-ant-" + "api03-Rk7Wq2Zx9Lm4Tb8Vn1Yc6Pd3",
            "postgres://app:h7Kx92mQpL@db.example/x",
            "https://example.com/?access_token=h7Kx92mQpL",
        ],
    )
    def test_a_value_that_is_or_holds_one_has_no_digest(self, value: str) -> None:
        redactor = Redactor({"MY_OWN": SECRET})
        assert others(("x-route", value), ("x-variant", "a"), redactor=redactor) == {
            "x-route": "",
            "x-variant": digest_of("a"),
        }

    def test_a_name_that_holds_one_is_left_out(self) -> None:
        assert others((f"x-{SECRET}", "a"), redactor=Redactor({"MY_OWN": SECRET})) == {}

    def test_what_is_not_known_differs_from_nothing(self) -> None:
        """A machine that has another secret, or none, asks the same."""
        here, there = Redactor({"MY_OWN": SECRET}), Redactor({"MY_OWN": "another-horse-battery"})
        was = recorded(("x-route", SECRET), redactor=here)
        for now in (("x-route", "another-horse-battery"), ("x-route", "none")), ():
            assert header_differences(was, Request("POST", "http://x/", now), RULES, there) == []
        added = Request("POST", "http://x/", (("x-route", SECRET),))
        assert header_differences(recorded(), added, RULES, here) == []
        assert header_differences(recorded(("x-route", "none")), added, RULES, here) == []


# Clients as they are: what they send twice is the same.


def by_openai(url: str, **more: Any) -> Any:
    """Ask by the SDK of OpenAI."""
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=url, api_key="k", **more) as client:
        return client.post("/any", body={"q": 1}, cast_to=object)


def by_anthropic(url: str, **more: Any) -> Any:
    """Ask by the SDK of Anthropic."""
    anthropic = pytest.importorskip("anthropic")
    with anthropic.Anthropic(base_url=url, api_key="k", **more) as client:
        return client.post("/any", body={"q": 1}, cast_to=object)


def by_httpx(url: str, **more: Any) -> Any:
    """Ask by httpx, first for what has moved, then with a form in parts."""
    httpx = pytest.importorskip("httpx")
    with httpx.Client(follow_redirects=True, **more) as client:
        client.get(f"{url}/moved")
        return client.post(f"{url}/any", data={"a": "b"}, files={"f": b"x"}).json()


def by_requests(url: str, **more: Any) -> Any:
    """Ask by requests for what has moved."""
    requests = pytest.importorskip("requests")
    with requests.Session() as session:
        session.headers.update(more.pop("headers", {}))
        return session.get(f"{url}/moved").json()


def by_aiohttp(url: str, **more: Any) -> Any:
    """Ask by aiohttp for what has moved, and then with a body."""
    aiohttp = pytest.importorskip("aiohttp")

    async def ask() -> Any:
        async with aiohttp.ClientSession(**more) as session:
            async with session.get(f"{url}/moved") as response:
                await response.read()
            async with session.post(f"{url}/any", json={"q": 1}) as response:
                return await response.json()

    return asyncio.run(ask())


SDKS = (by_openai, by_anthropic)
WAYS = (*SDKS, by_httpx, by_requests, by_aiohttp)
OTHER_MACHINE = {
    "user-agent": "Other/2.0",
    "x-stainless-arch": "arm64",
    "x-stainless-lang": "other",
    "x-stainless-os": "MacOS",
    "x-stainless-package-version": "9.9.9",
    "x-stainless-runtime-version": "3.99",
    "x-stainless-in-a-later-version": "yes",
    "x-stainless-timeout": "1",
}


def differences_of(deck: Deck, ask: Callable[[], Any]) -> tuple[RequestDifference, ...]:
    """Replay with all headers compared, and return in what the replay differs."""
    with deck.replaying():
        deck.tape.header_check = "report"
        ask()
        assert (deck.tape.unused(), deck.tape.lacks_headers) == ([], False)
        return () if deck.tape.difference is None else deck.tape.difference.differences


@pytest.mark.parametrize("way", WAYS)
def test_an_agent_that_asks_the_same_again_differs_in_nothing(
    deck: Deck, upstream: Upstream, way: Callable[..., Any]
) -> None:
    with deck.recording():
        way(upstream.url)
    upstream.close()
    assert differences_of(deck, lambda: way(upstream.url)) == ()


@pytest.mark.parametrize("post", CLIENTS)
def test_nor_does_one_of_the_other_clients(deck: Deck, upstream: Upstream, post: Post) -> None:
    with deck.recording():
        post(f"{upstream.url}/any", b'{"q":1}')
    upstream.close()
    assert differences_of(deck, lambda: post(f"{upstream.url}/any", b'{"q":1}')) == ()


@pytest.mark.parametrize("way", SDKS)
def test_another_version_on_another_machine_with_another_key_asks_the_same(
    deck: Deck, upstream: Upstream, way: Callable[..., Any]
) -> None:
    with deck.recording():
        way(upstream.url)
    upstream.close()
    assert (
        differences_of(deck, lambda: way(upstream.url, default_headers={**OTHER_MACHINE, "x-api-key": "other"})) == ()
    )


@pytest.mark.parametrize("way", WAYS)
def test_a_header_of_the_agents_own_is_seen_by_each(deck: Deck, upstream: Upstream, way: Callable[..., Any]) -> None:
    field = "default_headers" if way in SDKS else "headers"
    with deck.recording():
        way(upstream.url, **{field: {"x-variant": "the-value-of-it"}})
    assert b"the-value-of-it" not in deck.path.read_bytes()
    upstream.close()
    assert differences_of(deck, lambda: way(upstream.url, **{field: {"x-variant": "b"}})) == (
        RequestDifference(DifferenceKind.CHANGED, "header x-variant"),
    )
