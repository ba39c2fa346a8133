"""Text of calls: both sides of one as lines that cannot steer a terminal."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator

from pytest_recall.replay.encodings import decoded, json_of
from pytest_recall.replay.exchange import Exchange


def printable(text: str) -> str:
    """Return `text` with all that would steer a terminal written as an escape; lines stay lines."""
    return "".join(
        char
        if char == "\n" or char.isprintable() or unicodedata.category(char) == "Zs"
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def whole(exchange: Exchange) -> Iterator[str]:
    """Yield both sides of a call, line by line: JSON indented, a stream chunk by chunk."""
    request, response, failure = exchange.request, exchange.response, exchange.failure
    yield printable(f"{request.method} {request.url}").replace("\n", "\\n")
    yield from _headers(request.headers)
    yield from ("", *_body(b"".join(decoded(request.headers, (request.body,)) or ()), request.body))
    if response is not None:
        yield ""
        yield printable(f"{response.http_version} {response.status} {response.reason}").rstrip().replace("\n", "\\n")
        yield from _headers(response.headers)
        yield ""
        chunks = decoded(response.headers, response.chunks)
        if len(response.chunks) > 1 and chunks is not None:
            for number, chunk in enumerate(chunks, 1):
                at = f" after {response.offsets[number - 1]:.3f} s" if number <= len(response.offsets) else ""
                yield f"-- chunk {number} of {len(chunks)}, {len(response.chunks[number - 1]):,} bytes{at}"
                yield from printable(chunk.decode("utf-8", "backslashreplace").rstrip("\n")).split("\n")
        else:
            yield from _body(b"".join(chunks or ()), response.body)
        if not response.complete:
            yield "-- the client closed the stream before its end"
    if failure is not None:
        yield f"-- ended by {printable(f'{failure.kind}: {failure.message}')}"


def _headers(headers: tuple[tuple[str, str], ...]) -> Iterator[str]:
    return (printable(f"{name}: {value}").replace("\n", "\\n") for name, value in headers)


def _body(readable: bytes, raw: bytes) -> Iterator[str]:
    if not raw:
        yield "-- no body"
        return
    value = json_of(readable.strip())
    if value is not None:
        yield from printable(json.dumps(value, indent=2, ensure_ascii=False)).split("\n")
        return
    try:
        text = readable.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text:
        yield from printable(text.rstrip("\n")).split("\n")
    else:
        yield f"-- {len(raw):,} bytes that are not text"
