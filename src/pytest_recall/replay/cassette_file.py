"""Read and write cassettes: recorded calls, one NDJSON file for each case and each wider fixture.

The first line is the header, the second has the times, the last is the end mark; between them stand calls, and the
parts of request bodies. How each line looks is in `replay.cassette_lines`. What the same recording has otherwise the
next time, the run and the times, is in the second line and nowhere else, so that two recordings of an agent that asks
the same of a model that answers the same differ in this line alone. In version 1 it stood all over the file.

The end mark counts the lines, and has a sum of the checksums of all but the second, so that lines which were copied,
swapped or taken from another cassette are noticed when it is opened; a cassette that was written before there was such
a sum is looked through for calls and parts that stand twice or in another place.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

from pytest_recall.files.disk import (
    MAX_BYTES,
    check_pulled,
    make_ignored,
    open_file,
    read_checked,
    remove,
    write_bytes,
)
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line, plural
from pytest_recall.replay.cassette_lines import (
    CALL,
    CRC_BYTES,
    KEY,
    NODE,
    NODE_NAME,
    RAW,
    TIMES,
    call_lines,
    exchange_of,
    headers_in,
    heading_of,
    request_of,
    sealed,
    seq_of,
    sum_of,
    times_of,
    unsealed,
)
from pytest_recall.replay.encodings import MAX_PLAIN_BYTES, unpacks_too_far
from pytest_recall.replay.equality import equals, is_read_alike, key_of, raw_key_of, written_key
from pytest_recall.replay.exchange import FIRST_MATCHED, Exchange, Request
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor
from pytest_recall.replay.tokens import have_one_answer

VERSION = 2
_OLDER = (1,)
_OF_A_RUN = ("run", "recorded_at")
"""Those fields of a header that stand with the times."""
_NODE_BYTES = 100  # Of the line of a part, these are not of its value.
_NO_CALL = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


class _Calls:
    """The lines of a recording, whole or unfinished, and the calls in them; parsed when they are asked for."""

    def __init__(self, lines: list[bytes], name: str) -> None:
        self.name = name
        self._lines = lines
        self._times: Mapping[int, Mapping[str, Any]] = {}
        self._nodes: dict[str, int] | None = None

    def line(self, place: int) -> dict[str, Any]:
        """Return the fields of the line at `place`. Raises RecallError."""
        return unsealed(self._lines[place], self.name, place + 1)

    def exchange(self, place: int) -> Exchange:
        """Return the call at `place`. Raises RecallError."""
        return self.answered(place)[1]()

    def answered(self, place: int) -> tuple[Exchange, Callable[[], Exchange]]:
        """Return the call at `place` without its request, and what reads that, which takes longest, for the whole call.

        Both raise RecallError.
        """
        fields = self.line(place)
        try:
            found = exchange_of(fields, self._times.get(place))
        except _NO_CALL as error:
            raise self._no_call(place, error) from None
        if found.response is not None and unpacks_too_far(found.response.headers, found.response.chunks):
            raise RecallError(
                f"{self.name}:{place + 1}: its compressed answer is larger than {MAX_PLAIN_BYTES >> 20} MB when it is"
                " unpacked, which would fill the memory; restore the cassette from git, or record it again"
            )
        return found, partial(self._whole, place, found, fields.get("request"))

    def _whole(self, place: int, found: Exchange, given: Any) -> Exchange:
        used = 0

        def node(name: str) -> dict[str, Any]:
            nonlocal used
            at = self._node(name)
            # A request that names a long part over and over would fill the memory.
            used += max(0, len(self._lines[at]) - _NODE_BYTES)
            if used > MAX_PLAIN_BYTES:
                raise ValueError(f"its request is larger than {MAX_PLAIN_BYTES >> 20} MB")
            return self.line(at)

        try:
            return found._replace(request=request_of(given, node))
        except _NO_CALL as error:
            raise self._no_call(place, error) from None

    def heading(self, place: int) -> Exchange:
        """Return the call at `place` without its answer and the body of its request. Raises RecallError."""
        try:
            return heading_of(self.line(place))
        except _NO_CALL as error:
            raise self._no_call(place, error) from None

    def _no_call(self, place: int, error: Exception) -> RecallError:
        return RecallError(f"{self.name}:{place + 1}: not a recorded call ({error!r}); record it again")

    def _node(self, name: str) -> int:
        """Return the place of the part with a name. Raises ValueError if there is none."""
        if self._nodes is None:
            self._nodes = {
                line[NODE_NAME].decode("ascii", "replace"): place
                for place, line in enumerate(self._lines)
                if line.startswith(NODE, CRC_BYTES)
            }
        if name not in self._nodes:
            raise ValueError(f"the part {name} is missing")
        return self._nodes[name]


class Cassette(_Calls):
    """A finished recording: found by key at once, parsed only where it is served.

    `name` is how messages call the file. `rules` are those that were given, without the headers that
    it does not hold: whether a request had one of them is unknown. It `is_current` if it was recorded under
    the same rules. Raises RecallError for a file that is not whole.
    """

    def __init__(self, path: Path, name: str, rules: Rules) -> None:
        lines = read_lines(path, name)
        _check_merged(lines, name)
        if lines.pop() != b"" or not lines:
            number = len(lines) + 1
            raise RecallError(f"{name}:{number}: cut off in its last line; record it again, or restore it from git")
        super().__init__(lines, name)
        self.path = path
        self.header = _header(lines, name)
        self.calls = [place for place, line in enumerate(lines) if line.startswith(CALL, CRC_BYTES)]
        self._has_times = self.header["cassette"] not in _OLDER
        self._check_shape()
        if self._has_times:
            self._read_times()
        names = matched(self.header, name)
        self.rules = rules = rules.among(names)
        self.is_current = self.header.get("rules") == rules.digest
        # Keys of bytes that are made of more headers than these rules match are those of other requests.
        self._has_raw = self.is_current or rules.headers == names

    def __len__(self) -> int:
        return len(self.calls)

    @cached_property
    def keys(self) -> Mapping[str, list[int]]:
        """Each key to the places of its calls, under the rules that the cassette was opened with.

        Where it was recorded under others, all of its requests are read. Raises RecallError.
        """
        keys: dict[str, list[int]] = {}
        for place, key in self._key_at.items():
            keys.setdefault(key, []).append(place)
        return keys

    @cached_property
    def _key_at(self) -> Mapping[int, str]:
        if self.is_current:
            return {place: self._lines[place][KEY].decode("ascii", "replace") for place in self.calls}
        return {place: self.exchange(place).key for place in self.calls}

    @cached_property
    def _raw(self) -> Mapping[str, int]:
        """Each key of exact bytes to the first call that has it."""
        if not self._has_raw:
            return {}
        return {self._lines[place][RAW].decode("ascii", "replace"): place for place in reversed(self.calls)}

    def places_of(self, request: Request, redactor: Redactor) -> Sequence[int]:
        """Return the places of the calls with the key of a request that is made, in their order. Raises RecallError.

        What is read as one that was recorded was read when that was written down, and is not looked into again.
        """
        stored = redactor.headers(request.headers)
        place = self._raw.get(raw_key_of(request, self.rules, stored))
        if place is not None and is_read_alike(request.headers, stored, headers_in(self._lines[place])):
            return self.keys[self._key_at[place]]
        return self.keys.get(written_key(request, self.rules, redactor), ())

    def _whole(self, place: int, found: Exchange, given: Any) -> Exchange:
        """Return the call with its key under the rules that the cassette was opened with, not that of its line."""
        whole = super()._whole(place, found, given)
        return whole if self.is_current else whole._replace(key=key_of(whole.request, self.rules))

    def exchanges(self) -> Iterator[Exchange]:
        """Yield every call in order."""
        for place in self.calls:
            yield self.exchange(place)

    def verify(self) -> None:
        """Read everything. Raises RecallError for the first line that is not what was written."""
        for place in range(len(self._lines)):
            self.line(place)
        for seq, place in enumerate(self.calls):
            exchange = self.exchange(place)
            if exchange.seq != seq or exchange.key != key_of(exchange.request, self.rules):
                raise RecallError(
                    f"{self.name}:{place + 1}: not the call that was recorded here, or its key is of another version;"
                    " restore the cassette from git, or record it again"
                )

    def _check_shape(self) -> None:
        """Raise RecallError if lines are missing, or if some are of no known kind, which a look-up would pass over."""
        lines, name, last = self._lines, self.name, len(self._lines) - 1
        end = self.line(last)
        if end.get("end") != last - 1:
            counted = one_line(str(end["end"]), 20) if "end" in end else None
            problem = (
                "has no end mark, so that its recording was cut off"
                if counted is None
                else f"has {last - 1} lines where its end mark counts {counted}"
            )
            raise RecallError(f"{name}:{last + 1}: {problem}; record it again, or restore it from git")
        calls, first = set(self.calls), 1 + self._has_times
        for place in range(first, last) if len(calls) < last - first else ():
            if place not in calls and not lines[place].startswith(NODE, CRC_BYTES):
                self.line(place)
                raise RecallError(f"{name}:{place + 1}: neither a call nor a part of one; record it again")
        self._check_order(end)

    def _read_times(self) -> None:
        """Take in the line of times, and what it says of the header. Raises RecallError for one of other calls."""
        about, times = _times(self._lines, self.name)
        if len(times) != len(self.calls):
            raise RecallError(
                f"{self.name}:2: has the times of {plural(len(times), 'call')} where {len(self.calls)} are recorded;"
                " restore the cassette from git, or record it again"
            )
        self.header |= about
        self._times = dict(zip(self.calls, times, strict=True))

    def _check_order(self, end: Mapping[str, Any]) -> None:
        """Raise RecallError if lines were swapped, or taken from elsewhere."""
        lines, place = self._lines, len(self._lines) - 1
        moved = "sum" in end and end["sum"] != sum_of([lines[0], *lines[1 + self._has_times : -1]])
        parts: set[bytes] = set()
        for at, line in enumerate(lines[1:-1], 1):
            if line.startswith(NODE, CRC_BYTES):
                if (named := line[NODE_NAME]) in parts:
                    moved, place = True, at
                parts.add(named)
        for seq, at in enumerate(self.calls):
            if seq_of(lines[at]) not in (seq, None):
                moved, place = True, at
                break
        if moved:
            for at in range(len(lines)):
                self.line(at)  # One that is damaged is named for that.
            raise RecallError(
                f"{self.name}:{place + 1}: has lines that were copied, swapped or taken from another cassette;"
                " restore the cassette from git, or record it again"
            )


class Draft:
    """A recording that goes on: each call is with the operating system as soon as it ends.

    A process that is killed leaves the draft behind, whole up to its last line; it takes
    the place of no recording before `Library.finish`, and git passes over its folder.
    Raises OSError, and then holds what it held before.
    """

    def __init__(self, path: Path, header: Mapping[str, Any], rules: Rules) -> None:
        make_ignored(path.parent)
        self.path = path
        self._rules = rules
        self._nodes: set[str] = set()
        self._end = 0
        # Without a buffer: what could not be written must not come later, amid other lines.
        self._file: IO[bytes] = open_file(path, "xb", buffering=0)
        try:
            self._write(sealed(_head(header, rules)))
        except BaseException:
            self._file.close()
            remove(path)
            raise

    def append(self, exchange: Exchange) -> None:
        """Write one call through to the operating system."""
        try:
            self._write(b"".join(call_lines(exchange, self._nodes, self._rules, with_times=True)))
        except BaseException:
            self._nodes.clear()  # Later calls must not name parts that were not written.
            raise

    def close(self) -> None:
        """Stop writing; the draft stays."""
        self._file.close()

    def _write(self, lines: bytes) -> None:
        rest = memoryview(lines)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException:
            with suppress(OSError):
                self._file.seek(self._end)
                self._file.truncate()
            raise
        self._end += len(lines)


def read_draft(path: Path, name: str) -> tuple[dict[str, Any], list[Exchange]]:
    """Return the header and the calls of a draft, as far as they are whole; its end may be cut off."""
    *lines, _ = read_lines(path, name)
    if not lines:
        return {}, []
    header = _header(lines, name)
    calls = _Calls(lines, name)
    found: list[Exchange] = []
    for place, line in enumerate(lines):
        if line.startswith(CALL, CRC_BYTES):
            try:
                found.append(calls.exchange(place))
            except RecallError:
                break  # The parts of a call stand above it, so that what came before is whole.
    return header, found


def write_cassette(path: Path, header: Mapping[str, Any], exchanges: Iterable[Exchange], rules: Rules) -> None:
    """Replace `path` by a finished recording at once, its calls in the order in which they were made.

    Raises OSError or RecallError, and then has changed nothing.
    """
    nodes: set[str] = set()
    plain = {name: value for name, value in header.items() if name not in _OF_A_RUN}
    lines = [sealed(_head(plain, rules))]
    ordered = sorted(exchanges, key=lambda exchange: (exchange.seq, exchange.key))
    for seq, exchange in enumerate(ordered):
        lines.extend(call_lines(exchange._replace(seq=seq, key=key_of(exchange.request, rules)), nodes, rules))
    times: dict[str, Any] = {name: header[name] for name in _OF_A_RUN if name in header}
    times["calls"] = [times_of(exchange) for exchange in ordered]
    lines.append(sealed({"end": len(lines), "sum": sum_of(lines)}))
    lines.insert(1, sealed({"times": times}))
    data = b"".join(lines)
    if len(data) > MAX_BYTES:
        raise RecallError(f"{path}: larger than {MAX_BYTES >> 20} MB; {_IF_TOO_LARGE}")
    write_bytes(path, data)


def merged(first: Iterable[Exchange], second: Iterable[Exchange], rules: Rules) -> list[Exchange]:
    """Return the calls of two recordings of the same: those equal ones that `first` has fewer of are of `second`."""
    result, others = list(first), list(second)
    names = equals([*result, *others], rules)
    unpaired = Counter(names[: len(result)])
    for exchange, name in zip(others, names[len(result) :], strict=True):
        if unpaired[name] == 0:
            result.append(exchange)
        else:
            unpaired[name] -= 1
    return result


def are_answered_alike(first: Iterable[Exchange], second: Iterable[Exchange], rules: Rules) -> bool:
    """Whether the equal calls of two recordings of the same have the same answers, in their order."""
    one, other = list(first), list(second)
    names = equals([*one, *other], rules)
    answers: dict[Hashable, deque[Exchange]] = {}
    for name, exchange in zip(names, one, strict=False):
        answers.setdefault(name, deque()).append(exchange)
    pairs = ((answers.get(name), exchange) for name, exchange in zip(names[len(one) :], other, strict=True))
    return all(have_one_answer([left.popleft(), exchange]) for left, exchange in pairs if left)


def read_lines(path: Path, name: str) -> list[bytes]:
    """Return the lines of a file, as they are; the last one is what follows the last line end. Raises RecallError."""
    return read_checked(path, name, at_most=MAX_BYTES, remedy=_IF_TOO_LARGE).split(b"\n")


def _check_merged(lines: Iterable[bytes], name: str) -> None:
    """Raise RecallError if git has left a conflict in a file, which no other message would name."""
    for number, line in enumerate(lines, 1):
        if line.startswith(b"<<<<<<< "):
            raise RecallError(
                f"{name}:{number}: has a conflict that is not resolved; take the whole file from one side (`git"
                " checkout --ours` or `--theirs`), or record it again"
            )


def read_header(path: Path, name: str) -> dict[str, Any]:
    """Return the header of a cassette or of a draft without reading its calls. Raises RecallError."""
    return _read_head(path, name)[0]


def last_recorded(path: Path, name: str) -> str:
    """Return when the newest call of a cassette was recorded, in ISO 8601; empty if it does not say.

    Its header says when the oldest one was. Raises RecallError.
    """
    header, times = _read_head(path, name)
    return max(str(one.get("recorded_at", "")) for one in (header, *times))


def _read_head(path: Path, name: str) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return the header, and the times of each call where they stand in a line of their own."""
    try:
        with open_file(path, "rb") as file:
            lines = [file.readline(MAX_BYTES).removesuffix(b"\n") for _ in range(2)]
    except OSError as error:
        raise RecallError(f"{name}: cannot be read ({error.strerror}); check that it is there and readable") from None
    check_pulled(lines[0], name)
    header = _header(lines, name)
    if header["cassette"] in _OLDER or not lines[1].startswith(TIMES, CRC_BYTES):
        return header, []  # A draft has all of it in its first line.
    about, times = _times(lines, name)
    return header | about, times


_IF_TOO_LARGE = "record fewer calls into one cassette"


def _head(header: Mapping[str, Any], rules: Rules) -> dict[str, Any]:
    return {"cassette": VERSION, "rules": rules.digest, **header, "headers": sorted(rules.headers)}


def matched(header: Mapping[str, Any], name: str) -> frozenset[str]:
    """Return the headers of which a recording says that its requests had them or not. Raises RecallError."""
    names = header.get("headers")
    if names is None:
        return FIRST_MATCHED
    if not isinstance(names, list) or not {str}.issuperset(map(type, names)):
        raise RecallError(f"{name}:1: `headers` must be a list of names; record it again, or restore it from git")
    return frozenset(names)


def _header(lines: list[bytes], name: str) -> dict[str, Any]:
    if not lines[0].startswith(b'{"crc":"'):
        raise RecallError(f"{name}:1: not a cassette; import it with `recall cassettes import`, or record it again")
    header = unsealed(lines[0], name, 1)
    if "cassette" not in header:
        raise RecallError(f"{name}:1: not a cassette; import it with `recall cassettes import`, or record it again")
    if header["cassette"] != VERSION and header["cassette"] not in _OLDER:
        version = one_line(str(header["cassette"]), 20)
        raise RecallError(f"{name}:1: version {version} is not known to this pytest-recall; upgrade it")
    return header


def _times(lines: list[bytes], name: str) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return the fields of the header that stand in the line of times, and the times of each call."""
    times = unsealed(lines[1], name, 2).get("times")
    calls = times.get("calls") if isinstance(times, dict) else None
    if not isinstance(times, dict) or not isinstance(calls, list) or not all(isinstance(one, dict) for one in calls):
        raise RecallError(
            f"{name}:2: does not say when the calls were made; restore the cassette from git, or record it again"
        )
    return {field: times[field] for field in _OF_A_RUN if field in times}, calls
