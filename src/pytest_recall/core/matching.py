"""Matching: the key by which a recorded call is found again, and what nearly fits if none is.

A key covers the method, the URL and the canonical body. It never depends on headers, which
SDKs fill with trace ids, nor on the order of calls, which `gather` and threads change.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_recall.core.exchange import Request
from pytest_recall.core.redact import decoded

VOLATILE: Mapping[str, tuple[str, ...]] = {
    "/chat/completions": ("user", "safety_identifier", "prompt_cache_key", "metadata"),
    "/responses": ("user", "safety_identifier", "prompt_cache_key", "metadata"),
    "/completions": ("user",),
    "/embeddings": ("user",),
    "/messages": ("metadata",),
}
"""Fields that name the caller and change no answer, by the end of the URL's path."""

MAX_JSON_BYTES = 64 * 1024 * 1024
_PORTS = {"http": 80, "https": 443}
_BOUNDARY = re.compile(rb"\Amultipart/[^;]+;(?:[^;]*;)*? *boundary=\"?([^\";]+)\"?", re.IGNORECASE)
_NO_JSON = object()
_SHOWN = 60


class Rules:
    """What is left out of the comparison: the providers' fields, and `more` as dotted paths.

    `*` in a path stands for each element of a list: `messages.*.id`.
    """

    def __init__(self, more: Iterable[str] = ()) -> None:
        self.more = tuple(sorted(set(more)))
        self._paths = tuple(tuple(path.split(".")) for path in self.more)

    @property
    def digest(self) -> str:
        """Names these rules: keys made under others cannot be compared with these."""
        known = json.dumps([sorted(VOLATILE.items()), self.more])
        return hashlib.blake2b(known.encode(), digest_size=4).hexdigest()

    def stripped(self, url: str, body: Any) -> Any:
        """Return the JSON value `body` without volatile fields, and without top-level nulls, which say nothing."""
        kept = body
        if isinstance(body, dict):
            path = urlsplit(url).path.rstrip("/")
            own = next((fields for end, fields in VOLATILE.items() if path.endswith(end)), ())
            kept = {name: value for name, value in body.items() if value is not None and name not in own}
        for parts in self._paths:
            kept = _without(kept, parts)
        return kept


def _without(value: Any, path: tuple[str, ...]) -> Any:
    head, rest = path[0], path[1:]
    if isinstance(value, list) and head == "*":
        return [_without(item, rest) if rest else None for item in value]
    if not isinstance(value, dict) or head not in value:
        return value
    if not rest:
        return {name: item for name, item in value.items() if name != head}
    return {**value, head: _without(value[head], rest)}


def key_of(request: Request, rules: Rules) -> str:
    """Return the key of `request`, 32 hex digits: equal for requests that ask for the same."""
    url = normal_url(request.url)
    kind, body = _canonical_body(request, url, rules)
    text = f"{request.method.upper()}\n{url}\n{kind}\n".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text + body, digest_size=16).hexdigest()


def raw_key_of(request: Request) -> str:
    """Return a key over the bytes as they are: quick, and equal only where `key_of` is equal as well."""
    text = f"{request.method.upper()}\n{request.url}\n".encode("utf-8", "surrogatepass")
    # Processors have instructions for this one, and it is made for every call.
    return hashlib.sha256(text + request.body).hexdigest()[:32]


def normal_url(url: str) -> str:
    """Return `url` with scheme and host in lower case, without a default port and a fragment."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if ":" in host:
        host = f"[{host}]"
    try:
        port = parts.port
    except ValueError:
        port = None
    place = host if port is None or port == _PORTS.get(parts.scheme) else f"{host}:{port}"
    return urlunsplit((parts.scheme.lower(), place, parts.path or "/", parts.query, ""))


def json_of(body: bytes) -> Any:
    """Return the JSON value of `body`, or None if it is none; whole floats become ints, as 1.0 asks for 1."""
    value = _parsed(body)
    return None if value is _NO_JSON else value


def _parsed(body: bytes) -> Any:
    if body[:1] not in (b"{", b"[") or len(body) > MAX_JSON_BYTES:
        return _NO_JSON
    try:
        return json.loads(body, parse_float=_number)
    except (ValueError, RecursionError):
        return _NO_JSON


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Returns the one JSON text of a value, whatever the order of its keys was."""


def plain_body(request: Request) -> bytes:
    """Return the body without its content encoding, in which the time stands too; as it is if that is not known."""
    if all(name.lower() != "content-encoding" for name, _ in request.headers):
        return request.body
    plain = decoded(request.headers, (request.body,))
    return request.body if plain is None else b"".join(plain)


def _canonical_body(request: Request, url: str, rules: Rules) -> tuple[str, bytes]:
    body = plain_body(request)
    value = _parsed(body)
    if value is not _NO_JSON:
        return "json", canonical(rules.stripped(url, value)).encode("utf-8", "surrogatepass")
    kind = next((value for name, value in request.headers if name.lower() == "content-type"), "")
    found = _BOUNDARY.match(kind.encode("utf-8", "surrogatepass"))
    # A multipart body is split by a random text that is new in each request.
    return "bytes", body.replace(found[1], b"boundary") if found else body


def nearest_request(request: Request, others: Iterable[tuple[str, str, Any]], rules: Rules) -> tuple[int, list[str]]:
    """Return the place of the recorded request that is nearest to `request`, and what differs, line by line.

    `others` are recorded requests as (method, URL, body as JSON value or bytes). The place
    is -1 if there are none. Meant for a message: it compares with everything.
    """
    mine = (request.method.upper(), normal_url(request.url), _value(plain_body(request)))
    best, best_score, best_lines = -1, -1.0, list[str]()
    for place, (method, url, body) in enumerate(others):
        theirs = (method.upper(), normal_url(url), body)
        score = 2.0 * (mine[0] == theirs[0]) + 4.0 * (mine[1] == theirs[1])
        lines = [
            line
            for one, other in zip(_comparable(mine, rules), _comparable(theirs, rules), strict=True)
            for line in _differences(one, other)
        ]
        score += 1.0 / (1 + len(lines)) + _alike(mine[2], theirs[2])
        if score > best_score:
            best, best_score, best_lines = place, score, lines
    return best, best_lines


def _value(body: bytes) -> Any:
    value = _parsed(body)
    return body if value is _NO_JSON else value


def _comparable(side: tuple[str, str, Any], rules: Rules) -> tuple[dict[str, Any], dict[str, Any]]:
    method, url, body = side
    plain = rules.stripped(url, body)
    return {"method": method, "url": url}, plain if isinstance(plain, dict) else {"body": plain}


def _alike(one: Any, other: Any) -> float:
    left, right = (str(value)[-2000:] for value in (one, other))
    return SequenceMatcher(None, left, right, autojunk=False).quick_ratio()


def _differences(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Yield `path: recorded → asked` for each value that differs, in the order of the request."""
    if one == other and repr(one) == repr(other):  # True equals 1, and asks for something else
        return
    if isinstance(one, dict) and isinstance(other, dict):
        for name in {**one, **other}:
            inner = f"{path}.{name}" if path else str(name)
            if name not in other:
                yield f"{inner}: not recorded → {_shown(one[name])}"
            elif name not in one:
                yield f"{inner}: {_shown(other[name])} → not asked"
            else:
                yield from _differences(one[name], other[name], inner)
    elif isinstance(one, list) and isinstance(other, list):
        for place in range(max(len(one), len(other))):
            inner = f"{path}[{place}]"
            if place >= len(other):
                yield f"{inner}: not recorded → {_shown(one[place])}"
            elif place >= len(one):
                yield f"{inner}: {_shown(other[place])} → not asked"
            else:
                yield from _differences(one[place], other[place], inner)
    else:
        yield f"{path}: {_around(other, one)} → {_around(one, other)}"


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value) if isinstance(value, bytes) else canonical(value)
    line = " ".join(text.split())
    return f"“{line if len(line) <= _SHOWN else line[: _SHOWN - 1] + '…'}”"


def _around(value: Any, other: Any) -> str:
    """Return `value` cut to where it differs from `other`: the change may stand at the end of a long prompt."""
    if not isinstance(value, str) or not isinstance(other, str) or len(value) <= _SHOWN:
        return _shown(value)
    same = next((i for i, (a, b) in enumerate(zip(value, other, strict=False)) if a != b), min(len(value), len(other)))
    start = max(0, same - _SHOWN // 3)
    return _shown(("…" if start else "") + value[start:])
