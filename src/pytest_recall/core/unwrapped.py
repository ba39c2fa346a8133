"""Unwrapped text: what is written in escapes, in base64 or piece by piece in events, as it is meant."""

from __future__ import annotations

import json
import re
from binascii import Error, a2b_base64
from collections.abc import Iterator
from typing import Any

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


def spelled(text: str) -> Iterator[str]:
    """Yield what the events of a stream spell out together: the texts at one place of their JSON, joined.

    `text` is a body of `data:` lines, of lines that are JSON, or one JSON list.
    """
    pieces: dict[tuple[str, ...], list[str]] = {}
    is_list = text.startswith("[")
    if not is_list and "\ndata:" not in text and "}\n{" not in text:
        return
    for line in [text] if is_list else text.split("\n"):
        plain = line[5:].strip() if line.startswith("data:") else line.strip()
        if not plain.startswith(("{", "[")):
            continue
        try:
            _gather(json.loads(plain), pieces)
        except (ValueError, RecursionError):
            continue
    for several in pieces.values():
        if len(set(several)) > 1:
            yield "".join(several)


def _gather(event: Any, pieces: dict[tuple[str, ...], list[str]]) -> None:
    left: list[tuple[tuple[str, ...], Any]] = [((), event)]
    while left:
        path, value = left.pop()
        if isinstance(value, str):
            pieces.setdefault(path, []).append(value)
        elif isinstance(value, dict):
            left.extend(((*path, name), inner) for name, inner in value.items())
        elif isinstance(value, list):
            left.extend((path, inner) for inner in reversed(value))
