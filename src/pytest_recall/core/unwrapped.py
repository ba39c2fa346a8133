"""Unwrapped text: what is written in escapes, in base64 or piece by piece in events, as it is meant."""

from __future__ import annotations

import json
import re
from binascii import Error, a2b_base64
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

_ROUNDS = 3
_ESCAPE = re.compile(r"\\{1,8}(?:([nrtbf\"'/])|u([0-9a-fA-F]{4}))|%(?:25){0,3}([0-9A-Fa-f]{2})")
_BLANKS = str.maketrans("?&#+", "    ")
_SPACES = dict.fromkeys("nrtbf", "\n")
# Wrapped lines, as mails have them, are one run.
_BASE64 = re.compile(r"[\w+/-]{24,}(?:\r?\n[\w+/-]{4,76})*", re.ASCII)
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ALIGNED = 4096
"""A run up to this length may have begun before what is encoded: a path in a URL has `/` as base64 does."""
_READABLE = re.compile(rb"[\t\n\r\x20-\x7e]{16,}")


def unescaped(text: str) -> str:
    """Return text without the escapes of JSON and of URLs, which may lie within each other."""
    for _ in range(_ROUNDS):
        if "\\" not in text and "%" not in text:
            break
        before, text = text, _ESCAPE.sub(_character, text)
        if text == before:
            break
    return text


def _character(match: re.Match[str]) -> str:
    letter, unit, byte = match.groups()
    if letter is not None:
        return _SPACES.get(letter, letter)
    return chr(int(unit or byte, 16))


def pairs(text: str) -> str:
    """Return a query, or a URL with one, with blanks for the signs that part it, of which `+` means one itself."""
    return text.translate(_BLANKS)


def in_url(url: str) -> str:
    """Return a URL as it is to be searched: behind a `/`, a key may as well be a part of base64."""
    apart = pairs(url)
    return f"{apart}\n{apart.replace('/', ' ')}"


def decoded_texts(text: str) -> Iterator[str]:
    """Yield what stands in `text` as base64, standard or URL-safe: its readable stretches of 16 characters or more."""
    for match in _BASE64.finditer(text):
        data = re.sub(rb"\s", b"", match[0].encode("ascii")).translate(_STANDARD)
        for start in range(4) if len(data) <= _ALIGNED else (0,):
            for stretch in _READABLE.findall(from_base64(data[start:])):
                yield stretch.decode("ascii")


def from_base64(run: bytes) -> bytes:
    """Return what a run of standard base64 holds, with or without its `=`; nothing if it is none."""
    try:
        return a2b_base64((run[:-1] if len(run) % 4 == 1 else run) + b"==")
    except Error:
        return b""


class _Event:
    """The JSON of one event of a stream, and where in the body it stands."""

    def __init__(self, start: int, end: int, value: Any) -> None:
        self.start, self.end, self.value = start, end, value
        self.is_changed = False


class _Piece(NamedTuple):
    """A text within an event: what it is in, and under which name or number there."""

    text: str
    within: Any
    key: str | int
    event: _Event


def spelled(text: str) -> Iterator[str]:
    """Yield what the events of a stream spell out together: the texts at one place of their JSON, joined.

    `text` is a body of `data:` lines, of lines that are JSON, or one JSON list.
    """
    for several in _gathered(text.encode("utf-8", "surrogatepass")):
        yield "".join(piece.text for piece in several)


def respelled(body: bytes, redact: Callable[[tuple[bytes, ...]], tuple[bytes, ...]]) -> list[tuple[int, int, bytes]]:
    """Return stretches of a stream and what is to stand there, once `redact` has seen all pieces of each text.

    `redact` gets the pieces, and returns as many.
    """
    changed: list[_Event] = []
    for several in _gathered(body):
        before = tuple(piece.text.encode("utf-8", "surrogatepass") for piece in several)
        for piece, old, new in zip(several, before, redact(before), strict=True):
            if new != old:
                piece.within[piece.key] = new.decode("utf-8", "surrogatepass")
                if not piece.event.is_changed:
                    piece.event.is_changed = True
                    changed.append(piece.event)
    changed.sort(key=lambda event: event.start)
    return [(event.start, event.end, json.dumps(event.value).encode("ascii")) for event in changed]


def _gathered(body: bytes) -> list[list[_Piece]]:
    """Return the texts that stand at one place in several events, unless they are all the same."""
    pieces: dict[tuple[str, ...], list[_Piece]] = {}
    if body.startswith(b"["):
        lines = [body]
    elif b"\ndata:" in body or b"}\n{" in body:
        lines = body.split(b"\n")
    else:
        return []
    at = 0
    for line in lines:
        found = line.find(b"[" if line is body else b"{", 0, 64)
        if found >= 0 and line[:found].strip() in (b"", b"data:"):
            with suppress(ValueError, RecursionError):  # It need not be JSON, or not all of it.
                _gather(_Event(at + found, at + len(line), json.loads(line[found:])), pieces)
        at += len(line) + 1
    return [several for several in pieces.values() if len({piece.text for piece in several}) > 1]


def _gather(event: _Event, pieces: dict[tuple[str, ...], list[_Piece]]) -> None:
    """Add all texts of an event to `pieces`, by the names that lead to them; places in lists do not count."""
    left: list[tuple[tuple[str, ...], Any, Any, str | int]] = [((), event.value, None, 0)]
    while left:
        path, value, within, key = left.pop()
        if isinstance(value, str):
            pieces.setdefault(path, []).append(_Piece(value, within, key, event))
        elif isinstance(value, dict):
            left.extend(((*path, name), inner, value, name) for name, inner in value.items())
        elif isinstance(value, list):
            left.extend((path, inner, value, place) for place, inner in reversed([*enumerate(value)]))
