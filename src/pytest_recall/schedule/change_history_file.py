"""Read a history of changes from its file: JSON lines, which may be compressed with gzip."""

from __future__ import annotations

import zlib
from pathlib import Path

from pytest_recall.files.disk import MAX_BYTES, read_bytes, read_text, size_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.json_lines import objects
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.schedule.change_history import ChangeHistory, MergedChange, mistakes, parse_change

_GZIP = 31  # What zlib calls the largest window with the header of gzip.


def read_history(path: Path, name: str) -> ChangeHistory:
    """Return the history in `path`, called `name`; a name that ends in `.gz` is decompressed.

    Raises RecallError, with a sentence for each line that is wrong, the first twenty of them.
    """
    text = _decompressed(path, name) if path.suffix == ".gz" else read_text(path, name)
    changes: list[tuple[int, MergedChange]] = []
    problems: list[str] = []
    for number, value, problem in objects(text):
        if not problem:
            try:
                changes.append((number, parse_change(value)))
                continue
            except ValueError as error:
                problem = str(error)
        problems.append(f"{name}:{number}: {problem}")
        if len(problems) == MAX_PROBLEMS:
            break
    if not problems:
        problems = [f"{name}:{number}: {problem}" for number, problem in mistakes(changes)]
    if problems:
        raise RecallError(*problems[:MAX_PROBLEMS])
    if not changes:
        raise RecallError(f"{name}: no changes; write a line for each, such as `recall schedule export-history` does")
    return ChangeHistory(tuple(change for _, change in changes), isinstance(changes[0][1].cases, tuple))


def _decompressed(path: Path, name: str) -> str:
    try:
        if size_of(path) > MAX_BYTES:
            raise RecallError(f"{name}: larger than {MAX_BYTES >> 20} MB; split it")
        left, data = read_bytes(path), b""
        while left:
            member = zlib.decompressobj(_GZIP)
            data += member.decompress(left, MAX_BYTES + 1 - len(data))
            if len(data) > MAX_BYTES:
                raise RecallError(f"{name}: larger than {MAX_BYTES >> 20} MB when decompressed; split it")
            if not member.eof:
                raise RecallError(f"{name}: the compressed data ends too early; write the file again")
            left = member.unused_data
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except zlib.error:
        raise RecallError(f"{name}: is not compressed with gzip; give a .jsonl, or compress it again") from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RecallError(f"{name}:{line}: byte {error.start} is not UTF-8; save the file as UTF-8") from None
    except OSError as error:
        raise RecallError(f"{name}: cannot be read ({error.strerror}); check that it is there and readable") from None
