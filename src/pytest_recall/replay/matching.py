"""Make the key by which a recorded call is found, and find the nearest recording where none fits.

A key covers the method, the URL, the headers that ask for something (`replay.headers`) and the canonical body. It
never depends on other headers, which SDKs fill with trace ids, nor on the order of calls, which `gather` and threads
change, nor on the ids that tie the result of a tool to its call (`replay.call_ids`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple
from urllib.parse import unquote_plus, urlsplit, urlunsplit

from pytest_recall.replay.addresses import without_addresses
from pytest_recall.replay.call_ids import numbered, with_fixed_ids
from pytest_recall.replay.encodings import _NO_JSON, _parsed, decoded
from pytest_recall.replay.exchange import Headers, Request
from pytest_recall.replay.headers import MATCHED, asking


class Api(NamedTuple):
    """An endpoint that several providers have: how its path ends, what its bodies always hold, and what is volatile.

    `volatile` are fields that name the caller and change no answer.
    """

    path: str
    holds: tuple[str, ...]
    volatile: tuple[str, ...]


APIS = (
    Api("/chat/completions", ("messages", "model"), ("user", "safety_identifier", "prompt_cache_key", "metadata")),
    Api("/responses", ("model",), ("user", "safety_identifier", "prompt_cache_key", "metadata")),
    Api("/completions", ("model", "prompt"), ("user",)),
    Api("/embeddings", ("input", "model"), ("user",)),
    Api("/messages", ("max_tokens", "messages", "model"), ("metadata",)),
)
"""Known by path and body, since a gateway or a model on this machine may be on any host."""

_PORTS = {"http": 80, "https": 443}
_BOUNDARY = re.compile(rb"\Amultipart/[^;]+;(?:[^;]*;)*? *boundary=\"?([^\";]+)\"?", re.IGNORECASE)
FIXED_BOUNDARY = "recall-boundary"
"""What stands in a recorded upload for the random text between its parts."""
_RANDOM = 16
_SHOWN = 60


class Rules:
    """What makes two requests the same: the providers' rules, and those of a rubric.

    `more` are fields of bodies that may differ, as dotted paths; `*` stands for each element of a list, as in
    `messages.*.id`. `headers` are the lower-case names of those that are matched, `query` the parameters of URLs that
    are not, and `texts` regular expressions of what may differ in any text.
    """

    def __init__(
        self,
        more: Iterable[str] = (),
        *,
        headers: Collection[str] = MATCHED,
        query: Iterable[str] = (),
        texts: Iterable[str] = (),
    ) -> None:
        self.more = tuple(sorted(set(more)))
        self.headers = frozenset(headers)
        self.query = tuple(sorted(set(query)))
        self.texts = tuple(sorted(set(texts)))
        self._paths = tuple(tuple(path.split(".")) for path in self.more)
        self._texts = tuple(re.compile(text) for text in self.texts)

    @property
    def digest(self) -> str:
        """Names these rules: keys made under others cannot be compared with these."""
        known = json.dumps([3, APIS, self.more, sorted(self.headers), self.query, self.texts])
        return hashlib.blake2b(known.encode(), digest_size=4).hexdigest()

    def among(self, headers: Iterable[str]) -> Rules:
        """Return these rules for a recording that holds no other headers than these: the rest is unknown of it."""
        known = self.headers.intersection(headers)
        if known == self.headers:
            return self
        return Rules(self.more, headers=known, query=self.query, texts=self.texts)

    def with_texts(self, texts: Iterable[str]) -> Rules:
        """Return these rules with further regular expressions of what may differ in any text."""
        return Rules(self.more, headers=self.headers, query=self.query, texts=(*self.texts, *texts))

    def stripped(self, url: str, body: Any) -> Any:
        """Return the JSON value `body` without what may differ; ids of calls are numbers, from 1 as they appear.

        In bodies of the providers that is also a null at the top, which says nothing there.
        """
        kept = numbered(url, body)
        api = _api_of(url, body)
        if api is not None:
            kept = {name: value for name, value in kept.items() if value is not None and name not in api.volatile}
        for parts in self._paths:
            kept = _without(kept, parts)
        return self._each_text(kept) if self._texts else kept

    def url(self, url: str) -> str:
        """Return a URL without what may differ, in one way to write it."""
        url = normal_url(url)
        if self.query and "?" in url:
            path, _, query = url.partition("?")
            kept = [part for part in query.split("&") if unquote_plus(part.partition("=")[0]) not in self.query]
            url = f"{path}?{'&'.join(kept)}" if kept else path
        return self.text(url)

    def text(self, text: str) -> str:
        """Return a text without what may differ."""
        for pattern in self._texts:
            text = pattern.sub(VOLATILE_TEXT, text)
        return text

    def _each_text(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bytes):
            return self.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if isinstance(value, list):
            return [self._each_text(item) for item in value]
        if isinstance(value, dict):
            return {name: self._each_text(item) for name, item in value.items()}
        return value


VOLATILE_TEXT = "…"
"""What stands in a key for a text that may differ."""


def _api_of(url: str, body: Any) -> Api | None:
    """Return the provider's endpoint that a request is for; None for any other."""
    if not isinstance(body, dict):
        return None
    path = urlsplit(url).path.rstrip("/")
    return next((api for api in APIS if path.endswith(api.path) and all(name in body for name in api.holds)), None)


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
    kind, body = _canonical_body(request, rules)
    headers = _header_lines(request.headers, rules)
    text = f"{request.method.upper()}\n{rules.url(request.url)}\n{rules.text(headers)}{kind}\n"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass") + body, digest_size=16).hexdigest()


def raw_key_of(request: Request, rules: Rules) -> str:
    """Return a key over the bytes as they are: quick, and equal only where `key_of` is equal as well."""
    headers = _header_lines(request.headers, rules)
    text = f"{request.method.upper()}\n{request.url}\n{headers}".encode("utf-8", "surrogatepass")
    # Processors have instructions for this one, and it is made for every call.
    return hashlib.sha256(text + request.body).hexdigest()[:32]


def _header_lines(headers: Headers, rules: Rules) -> str:
    return "".join(f"{name}:{value}\n" for name, value in asking(headers, rules.headers).items())


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


canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode
"""Returns the one JSON text of a value, whatever the order of its keys was."""


def plain_body(request: Request) -> bytes:
    """Return the body without its content encoding, in which the time stands too; as it is if that is not known."""
    if all(name.lower() != "content-encoding" for name, _ in request.headers):
        return request.body
    plain = decoded(request.headers, (request.body,))
    return request.body if plain is None else b"".join(plain)


def _canonical_body(request: Request, rules: Rules) -> tuple[str, bytes]:
    body = without_addresses(plain_body(request))
    value = _parsed(body)
    if value is not _NO_JSON:
        return "json", canonical(rules.stripped(request.url, value)).encode("utf-8", "surrogatepass")
    split_by = _boundary(request)
    # A multipart body is split by a random text that is new in each request.
    return "bytes", rules.stripped(request.url, body.replace(split_by, b"boundary") if split_by else body)


def _boundary(request: Request) -> bytes:
    """Return the text that splits a multipart body; nothing for any other."""
    kind = next((value for name, value in request.headers if name.lower() == "content-type"), "")
    found = _BOUNDARY.match(kind.encode("utf-8", "surrogatepass"))
    return found[1] if found else b""


def with_fixed_boundary(request: Request) -> Request:
    """Return a multipart request with a text between its parts that is the same each time; any other as it is."""
    split_by = _boundary(request)
    # A short one that is chosen by hand may stand in the content as well.
    if len(split_by) < _RANDOM or split_by not in request.body:
        return request
    before = split_by.decode("utf-8", "surrogatepass")
    headers = tuple(
        (name, value.replace(before, FIXED_BOUNDARY) if name.lower() == "content-type" else value)
        for name, value in request.headers
    )
    return request._replace(headers=headers, body=request.body.replace(split_by, FIXED_BOUNDARY.encode()))


def with_known_ids(request: Request, is_given: Callable[[str], bool]) -> Request:
    """Return a request whose ids of calls are the same each time where the client makes them up; any other as it is.

    `is_given` says of an id whether an answer has given it. The key stays the same.
    """
    body = _parsed(request.body)
    if body is _NO_JSON or (fixed := with_fixed_ids(request.url, body, is_given)) == body:
        return request
    return request._replace(body=json.dumps(fixed, separators=(",", ":")).encode())


def nearest_request(request: Request, others: Iterable[Request], rules: Rules) -> tuple[int, list[str]]:
    """Return the place of the recorded request that is nearest to `request`, and what differs, line by line.

    The place is -1 if there are no `others`. Meant for a message: it compares with everything.
    """
    mine = _comparable(request, rules)
    best, best_score, best_lines = -1, -1.0, list[str]()
    for place, other in enumerate(others):
        theirs = _comparable(other, rules)
        score = 2.0 * (mine.head["method"] == theirs.head["method"]) + 4.0 * (mine.head["url"] == theirs.head["url"])
        lines = [*_differences(mine.head, theirs.head), *_differences(mine.body, theirs.body)]
        score += 1.0 / (1 + len(lines)) + _alike(mine.body, theirs.body)
        if score > best_score:
            best, best_score, best_lines = place, score, lines
    return best, best_lines


class _Comparable(NamedTuple):
    head: dict[str, str]
    body: dict[str, Any]


def _comparable(request: Request, rules: Rules) -> _Comparable:
    body = without_addresses(plain_body(request))
    value = _parsed(body)
    plain = rules.stripped(request.url, body if value is _NO_JSON else value)
    head = {"method": request.method.upper(), "url": rules.url(request.url)}
    head |= {f"header {name}": rules.text(value) for name, value in asking(request.headers, rules.headers).items()}
    return _Comparable(head, plain if isinstance(plain, dict) else {"body": plain})


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
