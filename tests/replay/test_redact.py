"""What of an exchange is written down, and that no known secret is."""

from __future__ import annotations

import gzip
import json
import zlib
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.exchange import (
    CREDENTIALS,
    DESCRIBING,
    MATCHED,
    STORED_RESPONSE,
    Failure,
    Headers,
    Kept,
    Request,
    Response,
)
from pytest_recall.replay.redaction import Redactor
from tests.helpers.samples import unhurried

KEY = "sk-proj-4fT9xQ2mLw8ZrYb1"
# What JSON, URLs and base64 each write in another way.
HARD = 'p"w\\d/é+ß &=?\n~7'
REDACTOR = Redactor({"OPENAI_API_KEY": KEY, "DB_PASSWORD": HARD})

# Without brackets, as what stands in a placeholder's is left alone by design.
values = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), min_size=8, max_size=24).filter(
    lambda value: value == value.strip() and not any(value in name for name in ("FIRST", "SECOND", "REDACTED"))
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
redactors = st.dictionaries(st.sampled_from(["FIRST", "SECOND"]), values, min_size=1)


def encodings(value: str) -> dict[str, str]:
    """Return the ways in which programs write a value."""
    inner = json.dumps(value)[1:-1]
    return {
        "plain": value,
        "url": quote(value, safe=""),
        "path": quote(value),
        "lower url": "".join(f"%{byte:02x}" if byte > 127 else chr(byte) for byte in value.encode()),
        "form": quote_plus(value),
        "url twice": quote(quote(value, safe=""), safe=""),
        "json": inner,
        "json in unicode": json.dumps(value, ensure_ascii=False)[1:-1],
        "json in json": json.dumps(inner)[1:-1],
        "json, slashes escaped": inner.replace("/", "\\/"),
    }


@pytest.mark.parametrize("way", encodings(""))
@pytest.mark.parametrize(("value", "name"), [(KEY, "OPENAI_API_KEY"), (HARD, "DB_PASSWORD")])
def test_every_spelling_is_replaced(value: str, name: str, way: str) -> None:
    spelt = encodings(value)[way]
    assert REDACTOR.text(f"a {spelt} b {spelt}") == f"a [{name}] b [{name}]"


@pytest.mark.parametrize("user", ["", "u", "us", "use", "user:", "someone:"])
@pytest.mark.parametrize("encode", [b64encode, urlsafe_b64encode])
def test_base64_as_in_basic_auth(user: str, encode: Any) -> None:
    token = encode(f"{user}{HARD}".encode()).decode()
    clean = REDACTOR.text(f"Basic {token} end")
    assert clean.startswith("Basic ")
    assert clean.endswith(" end")
    assert "[DB_PASSWORD]" in clean
    # What is left are the user and the characters that the value shares with its neighbours.
    start = len("Basic ") + len(user) * 4 // 3
    assert clean.index("[DB_PASSWORD]") in (start, start + 1)
    assert len(clean.partition("[DB_PASSWORD]")[2].removesuffix(" end").rstrip("=")) <= 1


@given(texts, values, texts)
@unhurried
def test_no_spelling_remains(before: str, value: str, after: str) -> None:
    redactor = Redactor({"FIRST": value})
    for spelt in encodings(value).values():
        clean = redactor.text(before + spelt + after)
        assert "[FIRST]" in clean
        assert spelt not in clean
        assert redactor.bytes((before + spelt + after).encode()) == clean.encode()


@given(st.binary(max_size=12), values, st.binary(max_size=12))
@unhurried
def test_no_base64_remains(before: bytes, value: str, after: bytes) -> None:
    token = b64encode(before + value.encode() + after)
    clean = Redactor({"FIRST": value}).bytes(token)
    assert b"[FIRST]" in clean
    left = clean.replace(b"[FIRST]", b"").rstrip(b"=")
    assert len(left) <= (len(before) * 8 + 5) // 6 + (len(after) * 8 + 5) // 6 + 2


@given(st.dictionaries(st.sampled_from(["FIRST", "SECOND"]), texts), st.lists(texts | values), st.data())
@unhurried
def test_twice_is_once(secrets: dict[str, str], pieces: list[str], data: st.DataObject) -> None:
    parts = st.sampled_from([*pieces, *secrets.values(), "[FIRST]", "[SECOND]", "?key=", "&", "https://", "@", "/"])
    text = "".join(data.draw(st.lists(parts)))
    redactor = Redactor(secrets)
    for redact in (redactor.text, redactor.url):
        assert redact(redact(text)) == redact(text)
    request = Request("POST", text, (("accept", text),), text.encode())
    assert redactor.request(redactor.request(request)) == redactor.request(request)


def test_bytes_that_are_no_text() -> None:
    assert REDACTOR.bytes(b"\xff\x00" + KEY.encode() + b"\xc3\xfe") == b"\xff\x00[OPENAI_API_KEY]\xc3\xfe"


def test_a_lone_surrogate_is_no_stumbling_block() -> None:
    assert REDACTOR.text(f"\ud800 {KEY} \udcff") == "\ud800 [OPENAI_API_KEY] \udcff"


def test_nothing_to_replace_is_the_very_same() -> None:
    body, text = b"\x00 nothing here", "nothing here either"
    assert REDACTOR.bytes(body) is body
    assert REDACTOR.text(text) is text


def test_the_case_of_a_long_value_does_not_matter() -> None:
    redactor = Redactor({"LONG": "aB3dEfGh1JkLmNoP", "SHORT": "Sunday12"})
    assert redactor.text("AB3DEFGH1JKLMNOP, SUNDAY12, Sunday12") == "[LONG], SUNDAY12, [SHORT]"
    assert redactor.text(b64encode(b"ab3dEfGh1JkLmNoP").decode()) == b64encode(b"ab3dEfGh1JkLmNoP").decode()


def test_the_case_of_a_value_in_a_host_does_not_matter() -> None:
    redactor = Redactor({"SHORT": "Sunday12"})
    assert redactor.url("https://sunday12.example.com/sunday12") == "https://SHORT.example.com/sunday12"
    assert redactor.url("https://[::1]:80/") == "https://[::1]:80/"


def test_a_longer_value_goes_first() -> None:
    redactor = Redactor({"SHORT": KEY, "LONG": KEY + "-and-more"})
    assert redactor.text(f"{KEY}-and-more {KEY}") == "[LONG] [SHORT]"


def test_of_two_names_the_first_is_written() -> None:
    assert Redactor({"B": KEY, "A": KEY}).text(KEY) == "[B]"


def test_blanks_around_a_value_are_not_of_it() -> None:
    assert Redactor({"A": f" {KEY}\n", "EMPTY": " "}).text(f"<{KEY}> <>") == "<[A]> <>"


def test_placeholders_are_left_alone() -> None:
    """Also where one of the values is a part of one."""
    redactor = Redactor({"DB_PASSWORD": "PASSWORD", "REDACTING": "REDACTED"})
    assert redactor.text("[DB_PASSWORD] PASSWORD [REDACTED]") == "[DB_PASSWORD] [DB_PASSWORD] [REDACTED]"


def test_a_variable_set_to_its_placeholder_matches_a_recording() -> None:
    recorded = Redactor({"OPENAI_API_KEY": KEY})
    replayed = Redactor({"OPENAI_API_KEY": "[OPENAI_API_KEY]"})
    for before, after in ((KEY, "[OPENAI_API_KEY]"), (quote(KEY), "%5BOPENAI_API_KEY%5D")):
        assert (
            recorded.url(f"http://h/{before}/x") == replayed.url(f"http://h/{after}/x") == "http://h/[OPENAI_API_KEY]/x"
        )


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://user:pw@h.test/p?a=1", "https://h.test/p?a=1"),
        ("https://us@er:p@w@h.test", "https://h.test"),
        ("https://h.test/@team?to=a@b", "https://h.test/@team?to=a@b"),
        (f"https://h.test/bot{KEY}/send", "https://h.test/bot[OPENAI_API_KEY]/send"),
        ("https://h.test/?a=%2f&key=x&b=+%20", "https://h.test/?a=%2f&key=[REDACTED]&b=+%20"),
        (f"https://h.test/?key={KEY}&q={KEY}", "https://h.test/?key=[REDACTED]&q=[OPENAI_API_KEY]"),
        ("https://h.test/?key=%5BREDACTED%5D", "https://h.test/?key=[REDACTED]"),
        ("https://h.test/?key=&keys=1&monkey=2&key", "https://h.test/?key=&keys=1&monkey=2&key"),
        ("https://h.test/#access_token=x", "https://h.test/#access_token=[REDACTED]"),
        ("https://h.test/?api%5Fkey=x", "https://h.test/?api%5Fkey=[REDACTED]"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_url(url: str, clean: str) -> None:
    assert REDACTOR.url(url) == clean


@pytest.mark.parametrize(
    "name",
    [
        "key",
        "api_key",
        "apikey",
        "api-key",
        "API-KEY",
        "access_token",
        "token",
        "sig",
        "signature",
        "X-Amz-Signature",
        "X-Amz-Credential",
        "code",
        "X-Amz-Security-Token",
        "client_secret",
        "password",
    ],
)
def test_credential_parameters(name: str) -> None:
    assert REDACTOR.url(f"https://h.test/?a=b&{name}=x%2By&c=d") == f"https://h.test/?a=b&{name}=[REDACTED]&c=d"


@given(st.lists(st.tuples(st.sampled_from(["q", "page", "keyword", "key", "sig"]), st.text("ab%2F+=.-é", max_size=6))))
@unhurried
def test_other_parameters_stay_as_they_are(pairs: list[tuple[str, str]]) -> None:
    url = "https://h.test/p?" + "&".join(f"{name}={value}" for name, value in pairs)
    clean = REDACTOR.url(url).removeprefix("https://h.test/p?")
    expected = [f"{name}={'[REDACTED]' if value and name in ('key', 'sig') else value}" for name, value in pairs]
    assert clean == "&".join(expected)


def test_headers_are_kept_by_name() -> None:
    given_headers: Headers = (
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {KEY}"),
        ("Accept", f"x/{KEY}"),
        ("X-Custom", "1"),
        ("accept", "*/*"),
    )
    assert REDACTOR.request(Request("GET", "http://h.test/", given_headers)).headers == (
        ("Content-Type", "application/json"),
        ("Accept", "x/[OPENAI_API_KEY]"),
        ("accept", "*/*"),
    )


@pytest.mark.parametrize("word", ["auth", "key", "cookie", "secret", "org", "project", "session", "credential"])
def test_no_kept_header_carries_credentials(word: str) -> None:
    assert [name for name in MATCHED | DESCRIBING if word in name] == []
    told = {"auth": ["www-authenticate"], "cookie": ["set-cookie"], "session": ["mcp-session-id"]}
    assert [name for name in STORED_RESPONSE if word in name] == told.get(word, [])
    assert not (MATCHED | DESCRIBING) & CREDENTIALS


def test_kept_headers_are_lower_case() -> None:
    for names in (MATCHED, DESCRIBING, STORED_RESPONSE):
        assert {name.lower() for name in names} == names


def test_what_lets_in_who_has_it_is_a_placeholder() -> None:
    headers = (
        ("Set-Cookie", "sid=abc123; Path=/; HttpOnly"),
        ("set-cookie", "theme=dark"),
        ("Mcp-Session-Id", "e5f6"),
        ("X-Goog-Upload-URL", "https://h.test/upload?upload_id=AJRbA5&x=1"),
        ("Link", '<https://h.test/items?page=2&token=abc>; rel="next"'),
        ("X-RateLimit-Remaining", "59"),
        ("Content-Length", "3"),
        ("X-Tenant", "t"),
    )
    response = Response(200, "OK", headers, (b"abc",))
    assert REDACTOR.response(response).headers == (
        ("Set-Cookie", "sid=[COOKIE]; Path=/; HttpOnly"),
        ("set-cookie", "theme=[COOKIE]"),
        ("Mcp-Session-Id", "[MCP_SESSION_ID]"),
        ("X-Goog-Upload-URL", "https://h.test/upload?upload_id=[REDACTED]&x=1"),
        ("Link", '<https://h.test/items?page=2&token=[REDACTED]>; rel="next"'),
        ("X-RateLimit-Remaining", "59"),
    )
    kept = Kept(response=frozenset({"x-tenant"}))
    assert Redactor({}, kept).response(response).headers == (("X-RateLimit-Remaining", "59"), ("X-Tenant", "t"))


def test_a_redirect_is_a_url() -> None:
    headers = (("Location", "https://u:p@h.test/?sig=abc&b=c"),)
    clean = REDACTOR.response(Response(302, "Found", headers)).headers
    assert clean == (("Location", "https://h.test/?sig=[REDACTED]&b=c"),)


def test_a_request_with_secrets_everywhere() -> None:
    body = json.dumps({"messages": [{"role": "user", "content": f'say "{KEY}" and {HARD}'}]})
    request = Request(
        "POST",
        f"https://h.test/v1?api-version=1&api-key={KEY}&q={quote(HARD)}",
        (("authorization", f"Bearer {KEY}"), ("openai-organization", "org-1"), ("accept", "*/*")),
        body.encode(),
    )
    assert REDACTOR.request(request) == Request(
        "POST",
        "https://h.test/v1?api-version=1&api-key=[REDACTED]&q=[DB_PASSWORD]",
        (("accept", "*/*"),),
        b'{"messages": [{"role": "user", "content": "say \\"[OPENAI_API_KEY]\\" and [DB_PASSWORD]"}]}',
    )


def test_a_form_is_like_a_query() -> None:
    form = (("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),)
    request = Request("POST", "https://h.test/token", form, b"client_secret=s3&grant_type=x%20y&\xff=1")
    assert REDACTOR.request(request).body == b"client_secret=[REDACTED]&grant_type=x%20y&\xff=1"
    assert REDACTOR.request(request._replace(headers=())).body == request.body


def test_a_secret_may_straddle_chunks_anywhere() -> None:
    body = f"data: {KEY}!\n".encode()
    clean = b"data: [OPENAI_API_KEY]!\n"
    start, end = body.index(KEY.encode()), body.index(b"!")
    for cut in range(len(body) + 1):
        response = Response(200, "OK", (), (body[:cut], body[cut:]), (0.1, 0.2))
        redacted = REDACTOR.response(response)
        if cut <= start:
            place = cut
        elif cut < end:
            place = start if cut - start < end - cut else clean.index(b"!")
        else:
            place = cut + len(clean) - len(body)
        assert redacted == Response(200, "OK", (), (clean[:place], clean[place:]), (0.1, 0.2))


@given(redactors, st.lists(st.binary(max_size=6)), st.data())
@unhurried
def test_chunks_keep_their_number_and_make_the_redacted_body(
    secrets: dict[str, str], noise: list[bytes], data: st.DataObject
) -> None:
    parts = st.sampled_from([*noise, b"", b"[FIRST]", *(value.encode() for value in secrets.values())])
    body = b"".join(data.draw(st.lists(parts)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    chunks = tuple(body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True))
    offsets = tuple(float(number) for number in range(len(chunks)))
    redactor = Redactor(secrets)
    redacted = redactor.response(Response(200, chunks=chunks, offsets=offsets))
    assert len(redacted.chunks) == len(chunks)
    assert redacted.offsets == offsets
    assert redacted.body == redactor.bytes(body)
    assert redactor.response(redacted) == redacted


def test_a_byte_per_chunk() -> None:
    body = f"<{KEY}>".encode()
    redacted = REDACTOR.response(Response(200, chunks=tuple(bytes([byte]) for byte in body)))
    assert len(redacted.chunks) == len(body)
    assert redacted.body == b"<[OPENAI_API_KEY]>"
    assert (redacted.chunks[0], redacted.chunks[-1]) == (b"<", b">")


def test_the_rest_of_a_response_stays() -> None:
    response = Response(
        401, f"no {KEY}", (("x-served-by", "a"), ("retry-after", "3")), (b"x",), (0.5,), "HTTP/2", complete=False
    )
    assert REDACTOR.response(response) == Response(
        401, "no [OPENAI_API_KEY]", (("retry-after", "3"),), (b"x",), (0.5,), "HTTP/2", complete=False
    )


def raw_deflate(data: bytes) -> bytes:
    """Return what some servers call deflate."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("GZIP", gzip.compress), ("deflate", zlib.compress), ("deflate", raw_deflate)],
)
def test_a_secret_in_a_compressed_body(encoding: str, pack: Any) -> None:
    packed = pack(f'{{"error": "bad key {KEY}"}}'.encode())
    headers = (("Content-Encoding", encoding), ("content-type", "application/json"))
    redacted = REDACTOR.response(Response(401, "", headers, (packed[:20], packed[20:]), (1.0, 2.0)))
    assert redacted.body == b'{"error": "bad key [OPENAI_API_KEY]"}'
    assert (len(redacted.chunks), redacted.headers) == (2, (("content-type", "application/json"),))
    request = REDACTOR.request(Request("POST", "https://h.test", headers, packed))
    assert (request.body, request.headers) == (redacted.body, redacted.headers)


def test_a_compressed_body_without_secrets_stays_compressed() -> None:
    response = Response(200, "", (("content-encoding", "gzip"),), (gzip.compress(b"fine"),), (1.0,))
    assert REDACTOR.response(response) == response


@pytest.mark.parametrize(
    ("secrets", "url", "clean"),
    [
        ({"MY_PASSWORD": "password"}, "https://password.h.test/password", "https://MY_PASSWORD.h.test/[MY_PASSWORD]"),
        ({"SECOND": "O", "FIRST": "CfHú"}, "https://[SECOND]CfHú/", "https://SECONDFIRST/"),
    ],
)
def test_a_secret_within_the_name_of_one(secrets: dict[str, str], url: str, clean: str) -> None:
    redactor = Redactor(secrets)
    assert redactor.url(url) == clean
    assert redactor.url(clean) == clean


def test_a_body_in_an_unknown_encoding_is_redacted_as_it_is() -> None:
    redacted = REDACTOR.response(Response(200, "", (("content-encoding", "snappy"),), (KEY.encode(),)))
    assert redacted == Response(200, "", (("content-encoding", "snappy"),), (b"[OPENAI_API_KEY]",))


def test_the_text_of_an_error() -> None:
    said = f"no route to 'http://u:p@proxy:1/?token=abc' with {KEY} (a@b.test, code=7)"
    assert REDACTOR.failure(Failure("ConnectError", said)) == Failure(
        "ConnectError", "no route to 'http://proxy:1/?token=[REDACTED] with [OPENAI_API_KEY] (a@b.test, code=7)"
    )


def test_without_secrets_only_the_structure_counts() -> None:
    bare = Redactor({})
    assert bare.text(KEY) == KEY
    assert bare.url("https://h.test/?key=1") == "https://h.test/?key=[REDACTED]"
    assert bare.response(Response(200, chunks=(b"a", b""))) == Response(200, chunks=(b"a", b""))
