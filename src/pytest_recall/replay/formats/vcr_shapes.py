"""Convert the requests and responses of vcrpy to ours and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_recall.replay.exchange import Headers, Request, Response


def request_of(given: Any) -> Request:
    """Return the request that a `vcr.request.Request` holds. Raises TypeError for a body that cannot be read."""
    return Request(_text(given.method), _text(given.uri), headers_of(given.headers), _body(given._body))


def _body(body: Any) -> bytes:
    """Return the bytes of a body, which a cassette may hold as text, as pieces or as what JSON is made of."""
    if body is None:
        return b""
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, bytes | bytearray):
        return bytes(body)
    if isinstance(body, list) and body and all(isinstance(piece, str | bytes | bytearray) for piece in body):
        return b"".join(piece.encode("utf-8") if isinstance(piece, str) else piece for piece in body)
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")


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


def response_dict(response: Response) -> dict[str, Any]:
    """Return a response as vcrpy takes it."""
    grouped: dict[str, list[str]] = {}
    for name, value in response.headers:
        grouped.setdefault(name, []).append(value)
    return {
        "status": {"code": response.status, "message": response.reason},
        "headers": grouped,
        "body": {"string": response.body},
    }
