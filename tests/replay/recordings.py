"""Recorded calls for the tests of cassettes, and hypothesis strategies for them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from pytest_recall.replay.cassette_file import Cassette, Draft, write_cassette
from pytest_recall.replay.cassette_lines import sealed, sum_of
from pytest_recall.replay.equality import key_of
from pytest_recall.replay.exchange import Exchange, Failure, Headers, Request, Response
from pytest_recall.replay.matching import Rules

RULES = Rules()
CHAT = "https://api.openai.com/v1/chat/completions"
JSON: Headers = (("content-type", "application/json"),)
NAME = "eval/cassettes/a.ndjson"
RESTORE = "restore the cassette from git, or record it again"
AT = "2026-03-01T09:00:00+00:00"
HEADER = {"case": "right", "scenario": "loans", "run": "2026-03-01T085959-7", "recorded_at": AT}


def request(*messages: str, url: str = CHAT, **more: Any) -> Request:
    """Return a request for a chat completion, as the SDKs write it."""
    asked = [{"role": "user", "content": text} for text in messages or ("How long is a loan?",)]
    body = {"model": "small-1", "messages": asked, **more}
    return Request("POST", url, JSON, json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())


def response(text: str = "A loan lasts one week.", **more: Any) -> Response:
    """Return the answer of a chat completion."""
    body = {
        "object": "chat.completion",
        "model": "small-1",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 6},
    }
    chunks = (json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode(),)
    return Response(**{"status": 200, "reason": "OK", "headers": JSON, "chunks": chunks, **more})


def call(question: str = "How long is a loan?", seq: int = 0, **more: Any) -> Exchange:
    """Return one call with the `given` fields in place of its own, and the key that belongs to it."""
    given = {"request": request(question), "response": response(), "kind": "agent", "at": AT, "seconds": 0.512, **more}
    return Exchange(**{"seq": seq, "key": key_of(given["request"], RULES), **given})


def conversation(turns: int, letters: int) -> Iterator[Exchange]:
    """Yield the calls of a session in which the model is told everything again each turn, and `letters` more."""
    messages: list[str] = []
    for turn in range(turns):
        messages.append(f"turn {turn}: ".ljust(letters, "abcdefg "[turn % 8]))
        yield call(seq=turn, request=request(*messages), response=response("yes"))


def opened(path: Path, rules: Rules = RULES) -> Cassette:
    """Open a cassette under the name of the tests."""
    return Cassette(path, NAME, rules)


def verify(path: Path) -> None:
    """Read everything of a cassette."""
    opened(path).verify()


def write(path: Path, *exchanges: Exchange, rules: Rules = RULES, **header: Any) -> Path:
    """Write a finished cassette and return its path."""
    write_cassette(path, _header(header), exchanges, rules)
    return path


def draft(path: Path, *exchanges: Exchange, rules: Rules = RULES, **header: Any) -> Path:
    """Write a draft that no one finished and return its path."""
    file = Draft(path, _header(header), rules)
    for exchange in exchanges:
        file.append(exchange)
    file.close()
    return path


def end_mark(lines: list[bytes]) -> bytes:
    """Return the line that ends a cassette of version 2 with these lines."""
    return sealed({"end": len(lines) - 1, "sum": sum_of([lines[0], *lines[2:]])})


def as_first_version(path: Path) -> Path:
    """Write a cassette of version 2 as one of version 1, in which the times stand all over the file."""
    head, times, *rest, _ = (json.loads(line) for line in path.read_bytes().splitlines())
    about = {name: times["times"][name] for name in ("run", "recorded_at") if name in times["times"]}
    lines = [_resealed({**head, **about, "cassette": 1})]
    left = iter(times["times"]["calls"])
    for fields in rest:
        if "call" in fields:
            mine = next(left)
            fields = {**fields, "recorded_at": mine["recorded_at"], "seconds": mine["seconds"]}
            if "chunks" in mine:
                fields["response"]["body"] |= {name: mine[name] for name in ("chunks", "offsets")}
        lines.append(_resealed(fields))
    path.write_bytes(b"".join([*lines, sealed({"end": len(lines) - 1, "sum": sum_of(lines)})]))
    return path


def _resealed(fields: dict[str, Any]) -> bytes:
    return sealed({name: value for name, value in fields.items() if name != "crc"})


def _header(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**HEADER, **given}.items() if value is not None}


def as_read(exchange: Exchange) -> Exchange:
    """Return what a cassette gives back of a call: the same, but for what says nothing.

    Headers of one name stand together, times are in milliseconds, one chunk has no offset,
    and JSON is written in one way.
    """
    asked, given = exchange.request, exchange.response
    if given is not None:
        several = len(given.chunks) > 1
        given = given._replace(
            headers=_together(given.headers),
            chunks=given.chunks if several else tuple(chunk for chunk in given.chunks if chunk),
            offsets=tuple(round(offset, 3) for offset in given.offsets) if several else (),
        )
    return exchange._replace(
        request=asked._replace(headers=_together(asked.headers), body=_plain(asked.body)),
        response=given,
        seconds=round(exchange.seconds, 3),
        key=key_of(asked, RULES),
    )


def _together(headers: Headers) -> Headers:
    names = list(dict.fromkeys(name for name, _ in headers))
    return tuple((name, value) for name in names for key, value in headers if key == name)


def _plain(body: bytes) -> bytes:
    try:
        value = json.loads(body) if body[:1] == b"{" else None
    except (ValueError, RecursionError):
        return body
    if value is None or any(isinstance(item, dict) and set(item) in ({"$list"}, {"$part"}) for item in value.values()):
        return body
    whole = json.dumps(_whole(value), separators=(",", ":"), ensure_ascii=False)
    return whole.encode("utf-8", "surrogatepass")


def _whole(value: Any) -> Any:
    """Return the value with whole floats as ints, as requests are compared."""
    if isinstance(value, dict):
        return {name: _whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


_names = st.text("abcXYZ-", min_size=1, max_size=5)
_words = st.text(st.characters(codec="utf-8"), max_size=12)
_long = st.builds("".join, st.lists(_words, min_size=40, max_size=60))
headers = st.lists(st.tuples(_names, _words), max_size=4).map(tuple)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12) | _long,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=12,
)
_references = st.builds(lambda name, value: {name: value}, st.sampled_from(["$list", "$part"]), values)
objects = st.dictionaries(_words, values | _references, max_size=5)
_bodies = (
    st.binary(max_size=80)
    | _words.map(str.encode)
    | values.map(lambda value: json.dumps(value).encode())
    | objects.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    | objects.map(lambda value: json.dumps(value, indent=1).encode())
)
_urls = st.sampled_from([CHAT, "http://localhost:8080/v1/messages?beta=true", "https://api.example.com/é?q=%20#x"])
_others = st.dictionaries(_names, st.just("") | st.text("0123456789abcdef", min_size=6, max_size=6), max_size=3)
requests = st.builds(
    Request,
    st.sampled_from(["GET", "POST"]),
    _urls,
    headers,
    _bodies,
    st.none() | _others.map(lambda others: tuple(others.items())),
)


@st.composite
def responses(draw: st.DrawFn) -> Response:
    """Draw a response, in chunks that may cut a character in two."""
    body = draw(st.binary(max_size=60) | _words.map(str.encode))
    cuts = sorted(draw(st.lists(st.integers(0, len(body)), max_size=4)))
    chunks = tuple(body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True))
    return Response(
        status=draw(st.integers(100, 599)),
        reason=draw(_words),
        headers=draw(headers),
        chunks=chunks,
        offsets=tuple(draw(st.floats(0, 60)) for _ in chunks),
        http_version=draw(st.sampled_from(["HTTP/1.1", "HTTP/2"])),
        complete=draw(st.booleans()),
    )


exchanges = st.builds(
    Exchange,
    key=st.just(""),
    seq=st.just(0),
    kind=st.sampled_from(["agent", "judge", "worker"]),
    request=requests,
    response=st.none() | responses(),
    failure=st.none() | st.builds(Failure, _names, _words),
    at=st.just(AT),
    seconds=st.floats(0, 600),
    batched=st.just(False),  # A cassette does not tell.
)
