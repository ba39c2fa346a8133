"""Find the addresses of Python objects in bytes, which are others in each process.

They stand in what `repr` says of most objects, such as `<Client object at 0x7f3a5c1e8d90>`: in prompts, and in the
messages of errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

ADDRESS = "[ADDRESS]"
"""What stands in place of an address."""
BEFORE_ADDRESS = b" at 0x"
"""What stands before and in each address: bytes without it hold none."""
_ADDRESS = re.compile(rb"(?<= at )0x[0-9A-Fa-f]{6,16}(?![0-9A-Za-z_])")
_REACH = 400
_FILE = re.compile(rb', file \\?"[^"\n]*", line \d+>')  # As of compiled code.
_BRACKET = re.compile(rb"[<>]")
_NAME = re.compile(rb"<[A-Za-z_]")
# A line of text ends so, and so does a string in JSON, which a quote behind a backslash does not.
_ENDS = re.compile(rb'\n|\\n|(?<!\\)"')


def addresses(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield where addresses begin and end: of 6 to 16 hex digits, within angle brackets, as those of objects are.

    All other hex numbers are written on purpose, and bytes that are no text, such as the events of
    Bedrock, have lengths and checksums that would fit no more.
    """
    if BEFORE_ADDRESS not in data or not _is_text(data):
        return
    for match in _ADDRESS.finditer(data):
        before = data[max(0, match.start() - _REACH) : match.start()]
        if _is_begun(before) and _is_closed(data[match.end() : match.end() + _REACH]):
            yield match.span()


def _is_text(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


def _is_begun(before: bytes) -> bool:
    """Whether a bracket is open at the end of these bytes, and a name follows it, as one does in a `repr`."""
    line = _ENDS.split(before)[-1]
    depth = 0
    for match in reversed([*_BRACKET.finditer(line)]):
        depth += 1 if match[0] == b">" else -1
        if depth < 0:
            return _NAME.match(line, match.start()) is not None
    return False


def _is_closed(after: bytes) -> bool:
    """Whether a bracket that was open before these bytes is closed in them."""
    if _FILE.match(after):
        return True
    depth = 0
    for match in _BRACKET.finditer(_ENDS.split(after, maxsplit=1)[0]):
        depth += 1 if match[0] == b"<" else -1
        if depth < 0:
            return True
    return False


def without_addresses(data: bytes) -> bytes:
    """Return `data` with a fixed text in place of each address."""
    pieces, end = [], 0
    for start, stop in addresses(data):
        pieces += [data[end:start], ADDRESS.encode()]
        end = stop
    return b"".join([*pieces, data[end:]]) if pieces else data
