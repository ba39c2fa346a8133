"""Retrievals: lines of JSON from a file or a pipe, one at a time, each of a bounded size."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import blake2b
from typing import BinaryIO, NamedTuple

from pydantic import ValidationError

from pytest_recall.files.json_lines import strict_json
from pytest_recall.files.validation import explain
from pytest_recall.metrics.retrieval import Retrieval

MAX_LINE = 16 * 1024 * 1024


class RetrievalLine(NamedTuple):
    """A line, counted from 1: its retrieval, or what is wrong with it, a sentence for each problem."""

    line: int
    retrieval: Retrieval | None
    problems: tuple[str, ...] = ()


def read_retrievals(file: BinaryIO, name: str) -> Iterator[RetrievalLine]:
    """Yield the lines of `file`, which messages call `name`, that are not blank; a broken one does not end it.

    Of what was read only a hash of each id is kept. Raises OSError.
    """
    seen: set[bytes] = set()
    number = 0
    while raw := file.readline(MAX_LINE + 1):
        number += 1
        if len(raw) > MAX_LINE and not raw.endswith(b"\n"):
            while (rest := file.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
            yield RetrievalLine(number, None, (f"{name}:{number}: is longer than {MAX_LINE >> 20} MB; split it",))
            continue
        if number == 1:
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        if raw.strip():
            yield _read(raw.rstrip(), name, number, seen)


def _read(raw: bytes, name: str, number: int, seen: set[bytes]) -> RetrievalLine:
    where = f"{name}:{number}: "
    try:
        text = raw.decode("utf-8")
        value = strict_json(text)
        if "\\u" in text:  # an escape may be half of a pair, which JSON lets pass and no encoding does
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError as error:
        return RetrievalLine(number, None, (f"{where}byte {error.start} of the line is not UTF-8; write it as UTF-8",))
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        return RetrievalLine(
            number, None, (f"{where}{half} is half of a character; write its other half, too, or neither",)
        )
    except (ValueError, RecursionError) as error:
        return RetrievalLine(number, None, (f"{where}not JSON ({error}); write one object per line",))
    if not isinstance(value, dict):
        return RetrievalLine(number, None, (f"{where}is not an object; write one per line, in braces",))
    try:
        found = Retrieval.model_validate(value)
    except ValidationError as error:
        return RetrievalLine(number, None, tuple(explain(error, Retrieval, name, lambda _: number)))
    mark = blake2b(found.id.encode("utf-8"), digest_size=16).digest()
    if mark in seen:
        return RetrievalLine(number, None, (f"{where}id: `{found.id}` was there before; choose another",))
    seen.add(mark)
    return RetrievalLine(number, found)
