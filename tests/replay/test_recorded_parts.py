"""One search of what is recorded: what it names, and that no line is written in which it names anything."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from textwrap import wrap
from urllib.parse import quote, quote_plus, unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.cassette_lines import call_lines
from pytest_recall.replay.exchange import Exchange, Request, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.recorded_parts import FoundSecret, cleaned, secrets_in
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.run_recordings import without_secrets
from pytest_recall.replay.secrets import suspicious
from tests.helpers.samples import unhurried
from tests.replay.recordings import call, request, response, write
from tests.replay.secret_kinds import JSON, KINDS, OK, PLACES, URL, made

TOKEN = "ghp_" + made(36)
OTHER = "ghp_" + made(36, seed=8)
A_TOKEN = "what looks like a GitHub token"
EVERYWHERE: dict[str, Callable[[str], Exchange]] = {
    **PLACES,
    "reason": lambda secret: Exchange("", 0, "agent", Request("GET", URL, JSON), OK._replace(reason=secret)),
}


def lines_of(one: Exchange) -> list[bytes]:
    """Return the lines that a cassette would have of a call as it is."""
    return call_lines(one, set(), Rules())


def test_no_part_of_a_secret_is_named() -> None:
    found = [FoundSecret("the reason", A_TOKEN)]
    assert [one for line in lines_of(EVERYWHERE["reason"](TOKEN)) for one in secrets_in(line)] == found


@pytest.mark.parametrize("place", EVERYWHERE)
def test_what_is_written_is_what_may_be_published(place: str, tmp_path: Path) -> None:
    """Were there a call that is written and not published, its case would have no recording, and no one would know."""
    for number, secret in enumerate(KINDS.values()):
        one = EVERYWHERE[place](secret)
        with suppress(RecallError):
            write(tmp_path / f"{number}.ndjson", cleaned(one, Redactor({})))
    assert without_secrets(tmp_path)[1] == []


def test_a_part_that_says_the_same_in_another_form_is_not_named_again() -> None:
    [line] = lines_of(call(request=request("a")._replace(body=b"{}"), response=response(f"It is {TOKEN}.")))
    assert list(secrets_in(line)) == [FoundSecret("the response body", A_TOKEN)]


def test_another_secret_of_a_kind_is_named_where_it_stands() -> None:
    pieces = [json.dumps({"choices": [{"delta": {"content": piece}}]}) for piece in (OTHER[:20], OTHER[20:])]
    answer = OK._replace(chunks=tuple(f"data: {piece}\n\n".encode() for piece in pieces))
    asked = Request("POST", URL, JSON, json.dumps({"prompt": TOKEN}).encode())
    [line] = lines_of(Exchange("", 0, "agent", asked, answer))
    assert list(secrets_in(line)) == [
        FoundSecret("the request body", A_TOKEN),
        FoundSecret("the response body (events joined)", A_TOKEN),
    ]


@pytest.mark.parametrize("known", [False, True], ids=["by its looks", "by its value"])
def test_a_header_whose_name_holds_a_secret_is_not_named_by_it(known: bool) -> None:
    name = "x-the-sunday-of-whit" if known else TOKEN
    find = (lambda part: ["it"] * (name in part.text)) if known else None
    answer = Response(200, "OK", ((name, name),), (b"{}",))
    [line] = lines_of(Exchange("", 0, "agent", Request("GET", URL), answer))
    found = secrets_in(line) if find is None else secrets_in(line, find)
    assert [one.part for one in found] == ["a header"]


def test_a_line_that_is_none_of_a_cassette_is_searched_as_a_whole() -> None:
    assert list(secrets_in(f'{{"note": "{TOKEN}"'.encode())) == [FoundSecret("the line", A_TOKEN)]


def wrapped(text: str, width: int = 76, end: str = "\n") -> str:
    """Return text in base64, in lines as mails have them."""
    return end.join(wrap(b64encode(text.encode()).decode(), width))


WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "URL": partial(quote, safe=""),
    "form": quote_plus,
    "JSON": lambda text: json.dumps(text)[1:-1],
    "JSON in JSON": lambda text: json.dumps(json.dumps(text)[1:-1])[1:-1],
    "base64": lambda text: b64encode(text.encode()).decode(),
    "base64 of URLs": lambda text: urlsafe_b64encode(text.encode()).decode(),
    "base64 of mails": wrapped,
    "base64 of PEM": partial(wrapped, width=64),
    "base64 of Windows": partial(wrapped, end="\r\n"),
    "base64, indented": partial(wrapped, width=60, end="\n  "),
}
BODIES: dict[str, Callable[[bytes], Exchange]] = {
    "answer": lambda data: call(response=response()._replace(headers=(), chunks=(data,))),
    "in two pieces": lambda data: call(
        response=response()._replace(headers=(), chunks=(data[: len(data) // 2], data[len(data) // 2 :]))
    ),
    "prompt": lambda data: call(request=request(data.decode())),
    "bytes": lambda data: call(request=request()._replace(headers=(), body=b"\xff\x00" + data)),
}
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
values = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="[]\\"), min_size=8, max_size=32)


def read(data: bytes, depth: int = 3) -> Iterator[bytes]:
    """Yield what bytes say to one who undoes escapes and base64, each in every way."""
    yield data
    if depth:
        yield data.replace(b"+", b" ")
        plain = re.sub(rb"\\([\"/\\])", rb"\1", re.sub(rb"\\[nr]", b"\n", data))
        for one in {unquote_to_bytes(data), plain} - {data}:
            yield from read(one, depth - 1)
        for run in re.findall(rb"[\w+/-]{8,}", re.sub(rb"\s+", b"", data), re.ASCII):
            for at in range(4):
                signs = run[at:].replace(b"-", b"+").replace(b"_", b"/")
                yield b64decode(signs[: len(signs) // 4 * 4 + len(signs) % 4 * (len(signs) % 4 > 1)] + b"==")


def written_in(line: bytes) -> Iterator[bytes]:
    """Yield the bodies of a line, as they were sent."""
    fields = json.loads(line)
    for body in (fields[side].get("body") for side in ("request", "response") if side in fields):
        if isinstance(body, dict) and body.keys() & {"string", "base64"}:
            yield b64decode(body["base64"]) if "base64" in body else body["string"].encode()
        else:
            yield json.dumps(body, ensure_ascii=False).encode()


@given(st.sampled_from(sorted(WAYS)), st.sampled_from(sorted(BODIES)), texts, values, texts)
@unhurried
def test_a_known_secret_is_not_written_in_any_spelling(
    way: str, where: str, before: str, value: str, after: str
) -> None:
    one = BODIES[where](WAYS[way](before + value + after).encode())
    if value.encode() in b"".join(map(b"".join, map(written_in, lines_of(BODIES[where](b""))))):
        return  # It is a word of each call.
    with suppress(RecallError):
        for line in lines_of(cleaned(one, Redactor({"FIRST": value}))):
            assert not [said for body in written_in(line) for said in read(body) if value.encode() in said]


# A form is read as one before it is searched: a plus is no part of a token there.
@given(
    st.sampled_from(sorted(WAYS.keys() - {"form"})),
    st.sampled_from(sorted(KINDS)),
    texts,
    st.sampled_from(["", " ", "\n", " and"]),
)
@unhurried
def test_what_looks_like_a_secret_is_found_in_any_spelling(way: str, kind: str, before: str, after: str) -> None:
    assert suspicious(WAYS[way](f"{before} {KINDS[kind]}{after}"))
