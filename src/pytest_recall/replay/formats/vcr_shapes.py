"""Convert the requests and responses of vcrpy to ours and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.replay.call_recorder import CallRecorder
from pytest_recall.replay.encodings import decoded
from pytest_recall.replay.exchange import Exchange, Headers, Request, Response


def request_of(given: Any) -> Request:
    """Return the request that a `vcr.request.Request` holds. Raises TypeError for a body that cannot be read."""
    return Request(_text(given.method), _text(given.uri), headers_of(given.headers), _body(given._body))


def _body(body: Any) -> bytes:
    """Return the bytes of a body: aiohttp's is what the caller gave, before it was made into bytes."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if isinstance(body, list) and body and all(isinstance(piece, str | bytes | bytearray) for piece in body):
        return b"".join(piece.encode("utf-8") if isinstance(piece, str) else piece for piece in body)
    if hasattr(body, "read"):
        return _content(body)
    if hasattr(body, "_value"):  # A payload of aiohttp.
        return _body(body._value)
    if type(body).__name__ == "FormData" and hasattr(body, "_fields"):
        body = [[dict(about), _plain(value)] for about, _, value in body._fields]
    return json.dumps(body, ensure_ascii=False, default=_plain).encode("utf-8", "surrogatepass")


def _content(file: Any) -> bytes:
    """Return what is left to read of an open file, which is read once more when it is sent."""
    try:
        place = file.tell()
        content = file.read()
        file.seek(place)
    except (OSError, ValueError, AttributeError) as error:
        raise TypeError(f"a body out of a {type(file).__name__} cannot be read twice ({error})") from None
    return content.encode("utf-8") if isinstance(content, str) else bytes(content)


def _plain(value: Any) -> str:
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("latin-1")
    if isinstance(value, str | int | float):
        return str(value)
    if hasattr(value, "read") or hasattr(value, "_value"):
        return _body(value).decode("latin-1")
    raise TypeError(f"a body of the type {type(value).__name__} cannot be read")


def headers_of(given: Any) -> Headers:
    """Return headers out of a mapping or pairs, of names to a value or to several."""
    pairs: Iterable[tuple[Any, Any]] = given.items() if isinstance(given, Mapping) else given or ()
    return tuple(
        (_text(name), _text(value))
        for name, values in pairs
        for value in (values if isinstance(values, list | tuple) else (values,))
    )


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if not isinstance(value, str | int | float):
        raise TypeError(f"a value of the type {type(value).__name__} where text is meant")
    return str(value)


def response_dict(response: Response, url: str, headers: Headers, body: bytes) -> dict[str, Any]:
    """Return a response as vcrpy's stubs take it; `headers` and `body` stand for its own."""
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return {
        "status": {"code": response.status, "message": response.reason},
        "headers": grouped,
        "body": {"string": body},
        "url": url,
    }


def is_raw(request: Any) -> bool:
    """Whether who makes the request takes a body as it came, and undoes a content encoding by itself."""
    return getattr(request, "recall_is_raw", False)


def tell(recorder: CallRecorder, response: Any, raw: bool) -> None:
    """Take in a whole response as a stub hands it out; `raw` if its body is as it came."""
    status = int(response["status"]["code"])
    body = response["body"].get("string")
    if body is None and not 300 <= status < 400:
        recorder.failed("ClientConnectionError", "the connection was lost before the end of the response")
        return
    headers = headers_of(response["headers"])
    if body and not raw and decoded(headers, (body,)) is None:
        # urllib3 and aiohttp return a body without the encoding that the headers still name.
        headers = tuple(header for header in headers if header[0].lower() != "content-encoding")
    recorder.started(status, response["status"]["message"] or "", headers)
    if body:
        recorder.chunk(body)
    recorder.ended()


def as_handed_out(exchange: Exchange, request: Any) -> tuple[Headers, bytes]:
    """Return headers and body as they came, or as urllib3 and aiohttp hand them out: without a content encoding."""
    assert exchange.response is not None
    headers, chunks = exchange.response.headers, exchange.response.chunks
    plain = None if is_raw(request) else decoded(headers, chunks)
    if plain is None or plain is chunks:
        return headers, b"".join(chunks)
    return tuple(header for header in headers if header[0].lower() != "content-encoding"), b"".join(plain)
