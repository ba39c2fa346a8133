"""Decode bodies: content encodings, and text that is wrapped in escapes, base64 or events.

gzip and deflate are always known, br and zstd where a package that decodes them is installed, as it is beside any
client that asks for them.
"""

from __future__ import annotations

import json
import re
import zlib
from binascii import a2b_base64
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from pydantic_core import from_json

from pytest_recall.replay.exchange import Headers, Request

_ROUNDS = 3
# Each begins with letters that do not vary, and what stands instead is one text: so they are fast.
_REPEATED = re.compile(r"\\\\\\{0,6}(?=[nrtbf\"'/]|u[0-9a-fA-F]{4})")
_SPACES = re.compile(r"\\[nrtbf]")
_BEFORE_SIGN = re.compile(r"\\(?=[\"'/])")
_UNITS = re.compile(r"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4}){0,999}")
_BYTE = re.compile(r"%(?:25){0,3}([0-9A-Fa-f]{2})")
_BLANKS = str.maketrans("?&#+", "    ")
# Wrapped lines, as mails have them, are one run.
_SHORTEST_RUN = 24
_BASE64 = re.compile(rb"[\w+/-]{%d,}(?:\r?\n[\w+/-]{2,76})*" % _SHORTEST_RUN, re.ASCII)
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ALIGNED = 4096
"""A run up to this length may have begun before what is encoded: a path in a URL has `/` as base64 does."""
_SHORTEST_STRETCH = 16


def marked(signs: Iterable[int]) -> bytes:
    """Return a table for `bytes.translate` that turns `signs` into `x` and all else into blanks.

    Many of `signs` in a row are then found as a text, which is many times faster than by a pattern.
    """
    within = frozenset(signs)
    return bytes(ord("x") if byte in within else ord(" ") for byte in range(256))


_SIGN = marked(byte for byte in range(128) if chr(byte).isalnum() or chr(byte) in "_+/-")
SHORTEST_LINE = 60
"""Of wrapped base64; mails have 76 characters in a line, and PEM 64."""
_PRINTABLE = marked((*b"\t\n\r", *range(0x20, 0x7F)))


def unescaped(text: str) -> str:
    """Return text without the escapes of JSON and of URLs, which may lie within each other."""
    for _ in range(_ROUNDS):
        before = text
        if "\\" in text:
            text = _without_backslashes(text)
        if "%" in text:
            text = _BYTE.sub(_character, text)
        if text == before:
            break
    return text


def _without_backslashes(text: str) -> str:
    if "\\\\" in text:
        text = _REPEATED.sub(r"\\", text)
    text = _BEFORE_SIGN.sub("", _SPACES.sub("\n", text))
    return _UNITS.sub(_characters, text) if "\\u" in text else text


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _characters(match: re.Match[str]) -> str:
    return "".join([chr(int(unit, 16)) for unit in match[0].split("\\u")[1:]])


def pairs(text: str) -> str:
    """Return a query, or a URL with one, with blanks for the signs that part it, of which `+` means one itself."""
    return text.translate(_BLANKS)


def in_url(url: str) -> str:
    """Return a URL as it is to be searched: behind a `/`, a key may as well be a part of base64."""
    apart = pairs(url)
    return f"{apart}\n{apart.replace('/', ' ')}"


def decoded_texts(text: str) -> Iterator[str]:
    """Yield what stands in `text` as base64, standard or URL-safe: its readable stretches of 16 characters or more.

    What stands there several times, as the id of a stream does in each event, is read once.
    """
    data = text.encode("ascii", "replace")
    seen: set[bytes] = set()
    marks, sought, end = data.translate(_SIGN), b"x" * _SHORTEST_RUN, 0
    while (start := marks.find(sought, end)) >= 0:
        match = _BASE64.match(data, start)
        assert match is not None
        end = match.end()
        run = match[0].translate(_STANDARD, b"\r\n")
        if run in seen:
            continue
        seen.add(run)
        for at in range(4) if len(run) <= _ALIGNED else (0,):
            plain = from_base64(run[at:])
            yield from _readable(plain)


def has_wrapped_base64(data: bytes) -> bool:
    """Whether a line of what may be base64 ends in these bytes, as a line or escaped for JSON or a URL."""
    marks, sought, end = data.translate(_SIGN), b"x" * SHORTEST_LINE, 0
    while (start := marks.find(sought, end)) >= 0:
        end = marks.find(b" ", start)
        if end < 0:
            return False
        if data[end] in b"\r\n\\%":
            return True
    return False


def _readable(data: bytes) -> Iterator[str]:
    marks, sought, end = data.translate(_PRINTABLE), b"x" * _SHORTEST_STRETCH, 0
    while (start := marks.find(sought, end)) >= 0:
        end = marks.find(b" ", start)
        if end < 0:
            end = len(data)
        yield data[start:end].decode("ascii")


def from_base64(run: bytes) -> bytes:
    """Return what a run of standard base64 without its `=` holds."""
    return a2b_base64((run[:-1] if len(run) % 4 == 1 else run) + b"==")


class _Event:
    """The JSON of one event of a stream, and where in the body it stands."""

    def __init__(self, start: int, end: int, value: Any) -> None:
        self.start, self.end, self.value = start, end, value
        self.is_changed = False


class _Place:
    """A place in the JSON of events, by the names that lead to it: its texts, and the event and the value of each.

    Places in lists do not count.
    """

    __slots__ = ("inner", "sources", "texts")

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.sources: list[tuple[_Event, Any, Any]] = []
        self.inner: dict[str, _Place] = {}


def spelled(text: str) -> Iterator[str]:
    """Yield what the events of a stream spell out together: the texts at one place of their JSON, joined.

    `text` is a body of `data:` lines, of lines that are JSON, or one JSON list.
    """
    root = _Place()
    for _, _, line in _event_lines(text.encode("utf-8", "surrogatepass")):
        _gather(read_json(line), root)
    for place in _spread(root):
        yield "".join(place.texts)


def respelled(body: bytes, redact: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> list[tuple[int, int, bytes]]:
    """Return stretches of a stream and what is to stand there, once `redact` has seen all pieces of each text.

    `redact` gets the pieces, and returns as many.
    """
    root = _Place()
    for start, end, line in _event_lines(body):
        if (value := read_json(line)) is not None:
            _gather(value, root, _Event(start, end, value))
    changed: list[_Event] = []
    for place in _spread(root):
        before = tuple(text.encode("utf-8", "surrogatepass") for text in place.texts)
        for (event, within, key), old, new in zip(place.sources, before, redact(before), strict=True):
            if new != old:
                within[key] = new.decode("utf-8", "surrogatepass")
                if not event.is_changed:
                    event.is_changed = True
                    changed.append(event)
    changed.sort(key=lambda event: event.start)
    return [(event.start, event.end, json.dumps(event.value).encode("ascii")) for event in changed]


def _event_lines(body: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield where in a stream its events begin and end, and what stands there, which need not be JSON."""
    if body.startswith(b"["):
        lines = [body]
    elif b"\ndata:" in body or b"}\n{" in body:
        lines = body.split(b"\n")
    else:
        return
    at = 0
    for line in lines:
        first = line.find(b"[" if line is body else b"{", 0, 64)
        if first >= 0 and line[:first].strip() in (b"", b"data:"):
            yield at + first, at + len(line), line[first:]
        at += len(line) + 1


def read_json(line: bytes) -> Any:
    """Return the value of a JSON text, its numbers as they stand there; None for what is none, or not all of one."""
    try:
        return from_json(line)
    except ValueError:
        pass
    try:
        return json.loads(line)  # Lone surrogates, and what is nested deeply.
    except (ValueError, RecursionError):
        return None


def _gather(value: Any, root: _Place, event: _Event | None = None) -> None:
    """Add all texts of an event to their places, in the order in which they stand there; with `event` also that."""
    left: list[tuple[Any, _Place, Any, Any]] = [(value, root, None, None)]
    while left:
        value, place, within, key = left.pop()
        if isinstance(value, dict):
            inner = place.inner
            for key, item in value.items():
                kind = type(item)
                if kind is str or kind is dict or kind is list:
                    into = inner.get(key)
                    if into is None:
                        into = inner[key] = _Place()
                    if kind is str:
                        into.texts.append(item)
                        if event is not None:
                            into.sources.append((event, value, key))
                    elif item:
                        left.append((item, into, value, key))
        elif isinstance(value, list):
            left.extend((value[at], place, value, at) for at in range(len(value) - 1, -1, -1))
        elif isinstance(value, str):
            place.texts.append(value)
            if event is not None:
                place.sources.append((event, within, key))


def _spread(root: _Place) -> Iterator[_Place]:
    """Yield the places that have texts of several events, unless they are all the same."""
    left = [root]
    while left:
        place = left.pop()
        left.extend(place.inner.values())
        if len(set(place.texts)) > 1:
            yield place


MAX_PLAIN_BYTES: Final = 64 * 1024 * 1024
"""A body that is larger than this when it is unpacked is not unpacked: a few megabytes may be gigabytes then."""

# The standard library's comes last: before Python 3.14 its name is free for others.
_PACKAGES: Final = {"br": ("brotli", "brotlicffi"), "zstd": ("backports.zstd", "zstandard", "compression.zstd")}
_INSTALLED_AS: Final = {"br": "brotli", "zstd": "zstandard"}

_Chunks = tuple[bytes, ...]


class _Codec(NamedTuple):
    """How one encoding is undone."""

    make: Callable[[], Any]
    """Returns a decompressor like those of zlib."""
    step: int
    """How many bytes it is given at once, at most: what these become fits into memory, however well they are
    compressed, and the limit is looked at after each."""
    error: type[Exception]


class _TooLargeError(Exception):
    """What is unpacked has become larger than the limit."""


def decoded(headers: Headers, chunks: _Chunks, limit: int = MAX_PLAIN_BYTES) -> _Chunks | None:
    """Return the chunks without their content encoding, or None if that can not be undone here.

    Without an encoding they are returned as they are. Others are undone chunk by chunk, up to `limit` bytes in all;
    of a stream that was cut, what there is.
    """
    try:
        return _decoded(headers, chunks, limit)
    except _TooLargeError:
        return None


def plain_body(request: Request) -> bytes:
    """Return the body without its content encoding, in which the time stands too; as it is if that is not known."""
    if all(name.lower() != "content-encoding" for name, _ in request.headers):
        return request.body
    plain = decoded(request.headers, (request.body,))
    return request.body if plain is None else b"".join(plain)


def unpacks_too_far(headers: Headers, chunks: _Chunks) -> bool:
    """Tell whether a compressed body is larger than `MAX_PLAIN_BYTES` when it is unpacked, without unpacking more."""
    try:
        _decoded(headers, chunks, MAX_PLAIN_BYTES)
    except _TooLargeError:
        return True
    return False


def package_to_install(headers: Headers) -> str | None:
    """Return the package without which a body with these headers cannot be decoded here; None if there is none."""
    for encoding in _encodings(headers):
        if encoding in _INSTALLED_AS and not _codecs(encoding):
            return _INSTALLED_AS[encoding]
    return None


# An answer is looked into several times.
@lru_cache(maxsize=256)
def _encodings(headers: Headers) -> tuple[str, ...]:
    """Return the encodings in the order in which they are undone: of several the last was applied last."""
    values = [value for name, value in headers if name.lower() == "content-encoding"]
    if not values:
        return ()
    named = ",".join(values).lower().split(",")
    return tuple(encoding.strip() for encoding in reversed(named) if encoding.strip() not in ("", "identity"))


def _decoded(headers: Headers, chunks: _Chunks, limit: int) -> _Chunks | None:
    found: _Chunks | None = chunks
    for encoding in _encodings(headers):
        if found is not None and any(found):
            found = _unpacked(found, encoding, limit)
    return found


def _unpacked(chunks: _Chunks, encoding: str, limit: int) -> _Chunks | None:
    for codec in _codecs(encoding):
        try:
            return _unpacked_by(codec, chunks, limit)
        except codec.error:
            continue
    return None


def _unpacked_by(codec: _Codec, chunks: _Chunks, limit: int) -> _Chunks:
    decoder = codec.make()
    left, unpacked = limit, []
    for chunk in chunks:
        pieces = []
        for at in range(0, len(chunk), codec.step):
            data = chunk[at : at + codec.step]
            while data:
                if decoder.eof:  # A body may consist of several, one after the other.
                    decoder = codec.make()
                pieces.append(decoder.decompress(data))
                data = decoder.unused_data if decoder.eof else b""
                left -= len(pieces[-1])
                if left < 0:
                    raise _TooLargeError
        unpacked.append(b"".join(pieces))
    return tuple(unpacked)


def _codecs(encoding: str) -> list[_Codec]:
    """Return the ways to undo an encoding, the first of which that fits is right; none if it is not known here."""
    if encoding in ("gzip", "x-gzip", "deflate"):
        # `deflate` is zlib's format by the standard, and without zlib's header from some servers.
        every_bits = (47, -zlib.MAX_WBITS) if encoding == "deflate" else (47,)
        return [_Codec(lambda bits=bits: zlib.decompressobj(bits), 4096, zlib.error) for bits in every_bits]  # type: ignore[misc]
    for name in _PACKAGES.get(encoding, ()):
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        return [_brotli(module) if encoding == "br" else _zstd(module)]
    return []


def _brotli(module: Any) -> _Codec:
    def make() -> SimpleNamespace:
        return SimpleNamespace(eof=False, decompress=module.Decompressor().process)

    return _Codec(make, 32, module.error)  # A few bytes may stand for 16 MB.


def _zstd(module: Any) -> _Codec:
    def make() -> Any:
        made = module.ZstdDecompressor()
        return made.decompressobj() if hasattr(made, "decompressobj") else made

    return _Codec(make, 256, module.ZstdError)  # Four bytes may stand for 128 KB.


def json_of(body: bytes) -> Any:
    """Return the JSON value of `body`, or None if it is none; whole floats become ints, as 1.0 asks for 1."""
    value = parsed(body)
    return None if value is NO_JSON else value


NO_JSON = object()


def parsed(body: bytes) -> Any:
    if body[:1] not in (b"{", b"[") or len(body) > MAX_JSON_BYTES:
        return NO_JSON
    try:
        return _decode(body.decode(json.detect_encoding(body), "surrogatepass"))
    except (ValueError, RecursionError):
        return NO_JSON


MAX_JSON_BYTES = 64 * 1024 * 1024


def _number(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


# What `json.loads` does with bytes; with an argument it would make a decoder each time.
_decode = json.JSONDecoder(parse_float=_number).decode
