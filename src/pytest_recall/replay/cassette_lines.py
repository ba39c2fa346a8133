"""Write and read the lines of a cassette: a call, the parts of its request, and their checksums.

A line is a JSON object that begins with its own checksum. A list in a request body, such as
the messages of a conversation, is a chain: each element is one line that names the one
before it, so that a context that grows costs what was added, not what was repeated.

When a call was made, how long it took and in which pieces its answer came differ in every recording of the same.
These times stand in one line for all calls of a cassette, and in a draft, which only grows, in the line of each call.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from pytest_recall.files.errors import RecallError
from pytest_recall.replay.encodings import json_of
from pytest_recall.replay.equality import raw_key_of
from pytest_recall.replay.exchange import Exchange, Failure, Headers, Request, Response
from pytest_recall.replay.matching import Rules, canonical

PART_BYTES = 200
"""A value of a body that is longer than this is a line of its own, to be named again by later calls."""
MAX_DEPTH = 100
"""A body that is nested more deeply is stored as text: reading JSON takes a frame of the stack for each level."""

CRC_BYTES = 18
"""The checksum of a line, before what it is of: {"crc":"01234567","""
CALL = b'"call":"'
NODE = b'"node":"'
TIMES = b'"times":'
KEY = slice(CRC_BYTES + len(CALL), CRC_BYTES + len(CALL) + 32)
RAW = slice(KEY.stop + len('","raw":"'), KEY.stop + len('","raw":"') + 32)
NODE_NAME = slice(CRC_BYTES + len(NODE), CRC_BYTES + len(NODE) + 16)

_HEADERS, _OTHERS, _BODY = b'"headers":', b',"others":{', b',"body":{'
_SEQ = re.compile(rb'"seq":(\d{1,12})[,}]')

encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
NOT_READ = Request("", "", (), b"")
_REFERENCES = ("$list", "$part")

BodyNode = Callable[[str], Mapping[str, Any]]
"""Returns the fields of the part with a name. Raises ValueError if there is none."""


def sealed(fields: Mapping[str, Any]) -> bytes:
    """Return the line of `fields`."""
    rest = encode(fields)[1:].encode("utf-8", "surrogatepass")
    return _seal(rest) + rest + b"\n"


def _seal(rest: bytes) -> bytes:
    return b'{"crc":"%08x",' % zlib.crc32(rest)


def unsealed(line: bytes, name: str, number: int) -> dict[str, Any]:
    """Return the fields of a line. Raises RecallError, naming the place, if it is not what was written."""
    try:
        if line[:CRC_BYTES] != _seal(line[CRC_BYTES:]):
            if line.endswith(b"\r"):
                raise ValueError("its line ends were changed; give *.ndjson the attribute `-text` in .gitattributes")
            raise ValueError("its checksum does not fit")
        return _parsed(line)
    except (ValueError, RecursionError) as error:
        raise RecallError(
            f"{name}:{number}: damaged ({error}); restore the cassette from git, or record it again"
        ) from None


def sum_of(lines: Iterable[bytes]) -> str:
    """Return a checksum of sealed lines in their order, by the checksums of each."""
    return f"{zlib.crc32(b''.join(line[:CRC_BYTES] for line in lines)):08x}"


def seq_of(line: bytes) -> int | None:
    """Return the number of the call of a line without parsing it; None if it has none in its place."""
    found = _SEQ.search(line, RAW.stop, RAW.stop + 200)
    return None if found is None else int(found[1])


def _parsed(line: bytes) -> dict[str, Any]:
    fields: dict[str, Any]
    try:
        fields = from_json(line)
    except ValueError:
        fields = json.loads(line)  # A lone surrogate is none of UTF-8's, but stands in answers as an escape.
    return fields


# Calls


def call_lines(exchange: Exchange, nodes: set[str], rules: Rules, *, with_times: bool = False) -> list[bytes]:
    """Return the lines of one call: the parts of its request that are not yet in `nodes`, then the call."""
    request, response, failure = exchange.request, exchange.response, exchange.failure
    body, lines = _written_body(request.body, nodes)
    fields: dict[str, Any] = {
        "call": exchange.key,
        "raw": raw_key_of(request, rules),
        "seq": exchange.seq,
        "kind": exchange.kind,
        **({"phase": exchange.phase} if exchange.phase else {}),
        **({"background": True} if exchange.background else {}),
        "request": {
            "method": request.method,
            "uri": request.url,
            "headers": _grouped(request.headers),
            **({} if request.others is None else {"others": dict(request.others)}),
            "body": body,
        },
    }
    if response is not None:
        fields["response"] = {
            "status": {"code": response.status, "message": response.reason},
            "headers": _grouped(response.headers),
            "body": _text(response.body),
            "http_version": response.http_version,
        }
        if not response.complete:
            fields["response"]["complete"] = False
    if failure is not None:
        fields["failure"] = {"kind": failure.kind, "message": failure.message}
    if with_times:
        fields["times"] = times_of(exchange)
    return [*lines, sealed(fields)]


def times_of(exchange: Exchange) -> dict[str, Any]:
    """Return what is another in every recording of the same call: when, how long, and the pieces of its answer."""
    response = exchange.response
    times: dict[str, Any] = {"recorded_at": exchange.at, "seconds": round(exchange.seconds, 3)}
    if response is not None and len(response.chunks) > 1:
        times["chunks"] = [len(chunk) for chunk in response.chunks]
        times["offsets"] = [round(offset, 3) for offset in response.offsets]
    return times


def exchange_of(fields: Mapping[str, Any], times: Mapping[str, Any] | None) -> Exchange:
    """Return the call of a line; its request is `NOT_READ`.

    Its `times` are in the line itself if there are none. Raises KeyError, TypeError, ValueError, AttributeError,
    OverflowError or RecursionError for what is not a call.
    """
    failure, response = fields.get("failure"), fields.get("response")
    if times is None:
        times = fields.get("times") or _first_times(fields)
    return Exchange(
        key=fields["call"],
        seq=int(fields["seq"]),
        kind=fields["kind"],
        request=NOT_READ,
        response=None if response is None else _response(response, times),
        failure=None if failure is None else Failure(failure["kind"], failure["message"]),
        at=times["recorded_at"],
        seconds=float(times["seconds"]),
        phase=str(fields.get("phase", "")),
        background=fields.get("background") is True,
    )


def heading_of(fields: Mapping[str, Any]) -> Exchange:
    """Return the call of a line without its answer and the body of its request, which take longest to read.

    Raises KeyError, TypeError, ValueError, AttributeError or OverflowError for what is not a call.
    """
    return Exchange(
        key=fields["call"],
        seq=int(fields["seq"]),
        kind=fields["kind"],
        request=_head(fields["request"]),
        response=None,
        background=fields.get("background") is True,
    )


def headers_in(line: bytes) -> Headers:
    """Return the headers that are stored of the request in the line of a call, of which nothing else is parsed."""
    # A quote within a text is escaped, and a header has a list: nothing before these names looks like them.
    start = line.find(_HEADERS, RAW.stop) + len(_HEADERS)
    body = line.find(_BODY, start)
    others = line.find(_OTHERS, start, body)
    try:
        return _parsed_headers(line[start : body if others < 0 else others])
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ()  # It is damaged, which is told where it is read.


# A client sends the same headers with every call.
@lru_cache(maxsize=256)
def _parsed_headers(text: bytes) -> Headers:
    return _flat(_parsed(text))


def _head(given: Mapping[str, Any]) -> Request:
    others = given.get("others")
    return Request(
        given["method"],
        given["uri"],
        _flat(given["headers"]),
        others=None if others is None else tuple((name, str(digest)) for name, digest in others.items()),
    )


def request_of(given: Mapping[str, Any], node: BodyNode) -> Request:
    """Return the request of a call, as its line has it. Raises what `exchange_of` does."""
    return _head(given)._replace(body=_body(given["body"], node))


def _first_times(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the times of a call in a cassette of version 1, where they stand all over its line."""
    body = (fields.get("response") or {}).get("body", {})
    pieces = {name: body[name] for name in ("chunks", "offsets") if name in body}
    return {"recorded_at": fields["recorded_at"], "seconds": fields["seconds"], **pieces}


def _response(given: Mapping[str, Any], times: Mapping[str, Any]) -> Response:
    data = _bytes(given["body"])
    chunks: list[bytes] = []
    position = 0
    for length in times.get("chunks", [len(data)] if data else []):
        chunks.append(data[position : position + length])
        position += len(chunks[-1])
    if position != len(data):
        raise ValueError(f"chunks of {position} bytes in a body of {len(data)}")
    return Response(
        status=int(given["status"]["code"]),
        reason=given["status"]["message"] or "",
        headers=_flat(given["headers"]),
        chunks=tuple(chunks),
        offsets=tuple(times.get("offsets", ())),
        http_version=given.get("http_version", "HTTP/1.1"),
        complete=given.get("complete", True),
    )


def _grouped(headers: Headers) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for name, value in headers:
        grouped.setdefault(name, []).append(value)
    return grouped


def _flat(grouped: Mapping[str, Iterable[str]]) -> Headers:
    return tuple([(name, value) for name, values in grouped.items() for value in values])


def _text(data: bytes) -> dict[str, Any]:
    try:
        return {"string": data.decode("utf-8")}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def _bytes(written: Mapping[str, Any]) -> bytes:
    if "base64" in written:
        return base64.b64decode(written["base64"], validate=True)
    text: str = written["string"]
    return text.encode("utf-8")


# Parts of request bodies


def _written_body(body: bytes, nodes: set[str]) -> tuple[dict[str, Any], list[bytes]]:
    """Return how a request body is written, and the lines of those of its parts that are not yet in `nodes`."""
    value = json_of(body)
    if not isinstance(value, dict) or any(map(_is_reference, value.values())) or _is_deeper(value, MAX_DEPTH):
        return _text(body), []
    lines: list[bytes] = []
    written: dict[str, Any] = {}
    for name, item in value.items():
        if isinstance(item, list) and item:
            at = ""
            for element in item:
                at, after = _hash(after=at, element=element), at
                if at not in nodes:
                    nodes.add(at)
                    lines.append(sealed({"node": at, "after": after, "item": element}))
            written[name] = {"$list": at}
        elif isinstance(item, str | dict) and len(text := canonical(item)) > PART_BYTES:
            at = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=b"part").hexdigest()
            if at not in nodes:
                nodes.add(at)
                lines.append(sealed({"node": at, "value": item}))
            written[name] = {"$part": at}
        else:
            written[name] = item
    return {"json": written}, lines


def _hash(*, after: str, element: Any) -> str:
    text = after + canonical(element)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8, person=b"list").hexdigest()


def _is_reference(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and next(iter(value)) in _REFERENCES


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    return levels == 0 or any(
        _is_deeper(item, levels - 1) for item in (value.values() if isinstance(value, dict) else value)
    )


def _body(written: Mapping[str, Any], node: BodyNode) -> bytes:
    if "json" not in written:
        return _bytes(written)
    body = {name: _part(value, node) for name, value in written["json"].items()}
    return encode(body).encode("utf-8", "surrogatepass")


def _part(value: Any, node: BodyNode) -> Any:
    if not _is_reference(value):
        return value
    if "$part" in value:
        return node(value["$part"])["value"]
    items: list[Any] = []
    passed: set[str] = set()
    at = value["$list"]
    while at:
        if at in passed:
            raise ValueError(f"the part {at} comes before itself")
        passed.add(at)
        found = node(at)
        items.append(found["item"])
        at = found["after"]
    return items[::-1]
