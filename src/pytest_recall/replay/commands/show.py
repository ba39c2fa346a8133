"""The command `recall cassettes show`: what one cassette holds, call by call or one call whole."""

from __future__ import annotations

import argparse
import json
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from pytest_recall.cli.common import Commands, command, context_of, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.eval_directory import Place
from pytest_recall.files.wording import one_line, plural
from pytest_recall.replay.cassette_file import Cassette, read_draft
from pytest_recall.replay.cassette_library import DRAFTS
from pytest_recall.replay.commands.listing import (
    add_folder,
    file_of_recordings,
    find,
    instead_of,
    library_of,
    model_of,
    since,
    size,
    titled,
)
from pytest_recall.replay.encodings import decoded, json_of
from pytest_recall.replay.exchange import Exchange, Headers, Response, Tokens
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.run_recordings import damaged
from pytest_recall.replay.wire_formats import answered, asked, usage_of
from pytest_recall.runs.context import CommandLine

SHOW_DETAILS = """\
CASSETTE is the id of a case, or SCENARIO/CASE, or the name of a fixture: of several recordings the
one that counts is shown. Any other is shown by its file, or, in a file of recordings, by its name
there, "eval/runs/FILE: SCENARIO/CASE.ndjson", as `recall cassettes list --json` prints both; the
path of a file of recordings, eval/runs/FILE, shows all that are in it. What was recorded is printed
with its control characters written out, so that it cannot steer the terminal.
"""


def add_show(commands: Commands) -> None:
    """Add the command."""
    parser = command(commands, "show", "show the calls of a cassette", run_show, SHOW_DETAILS)
    parser.add_argument("cassette", metavar="CASSETTE", help="a case id, or a path")
    parser.add_argument("--call", type=int, metavar="N", help="show all of this call, counted from 1")
    parser.add_argument("--date", metavar="YYYY-MM-DD", help="the day to count its age to (default: today in UTC)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_folder(parser)


def run_show(args: argparse.Namespace) -> int:
    """Run the command."""
    place = place_of(args)
    context, rubric = context_of(place, CommandLine(date=args.date))
    file = file_of_recordings(place, args.cassette)
    if file is not None:
        every = [_read(path, name, rubric.rules()) for path, name in _recordings(place, args, file)]
        if args.json:
            plain = [one.to_json(detailed=False) for one in every]
            print(json.dumps({"path": place.name(file), "recordings": plain}, indent=2))
        else:
            print(f"{place.name(file)}: {plural(len(every), 'recording')}")
            print("\n".join(line for one in every for line in ("", *one.lines(context.date))))
        return 0
    library = library_of(place, args)
    path = find(library, place, args.cassette)
    found = _read(path, library.name(path), rubric.rules())
    if args.call is not None:
        found = found._replace(calls=[call for call in found.calls if call.seq + 1 == args.call])
        if not found.calls:
            raise RecallError(
                f"{found.name}: has no call {args.call}; `recall cassettes show {args.cassette}` lists them"
            )
    if args.json:
        print(json.dumps(found.to_json(detailed=args.call is not None), indent=2))
    elif args.call is not None:
        print("\n".join(line for call in found.calls for line in (_numbered(call), "", *whole(call))))
    else:
        print("\n".join(found.lines(context.date)))
    return 0


class _Shown(NamedTuple):
    """A cassette or draft as it is shown, with its `size` in bytes."""

    name: str
    header: Mapping[str, Any]
    calls: Sequence[Exchange]
    size: int
    is_draft: bool

    def lines(self, today: date) -> Iterator[str]:
        """Yield all calls at a glance."""
        first = since(self.header, self.calls)
        age = f", {plural((today - first).days, 'day')} old" if first else ""
        yield self.name
        yield f"  {titled(self.header)}{', unfinished draft' if self.is_draft else ''}"
        yield f"  recorded {one_line(str(self.header.get('recorded_at', '?')), 40)}{age}"
        yield f"  {plural(len(self.calls), 'call')}, {size(self.size)}"
        yield from (line for call in self.calls for line in ("", *_short(call)))

    def to_json(self, *, detailed: bool) -> dict[str, Any]:
        """Return plain JSON types."""
        calls = [_plain(call, detailed=detailed) for call in self.calls]
        return {"path": self.name, "header": self.header, "calls": calls}


def _read(path: Path, name: str, rules: Rules) -> _Shown:
    if DRAFTS in path.parts:
        header, calls = read_draft(path, name)
        return _Shown(name, header, calls, path.stat().st_size, is_draft=True)
    cassette = Cassette(path, name, rules)
    return _Shown(name, cassette.header, list(cassette.exchanges()), path.stat().st_size, is_draft=False)


def _recordings(place: Place, args: argparse.Namespace, file: Path) -> list[tuple[Path, str]]:
    """Return the recordings in a file of a run, each with what messages call it; of others nothing has to be whole.

    Raises RecallError for a file that is damaged, and where it is said to show what only one recording has.
    """
    name = place.name(file)
    broken = damaged(place)
    if name in broken:
        raise RecallError(broken[name])
    library = library_of(place, args, but=broken)
    if args.call is not None or args.cassettes is not None:
        raise RecallError(instead_of(library, place, file))
    return [(path, library.name(path)) for path in library.files() if library.layer(path).name == name]


def _numbered(call: Exchange) -> str:
    return f"call {call.seq + 1}, {one_line(call.kind, 20)}, {one_line(call.at, 40)}, took {call.seconds:.3f} s"


def _short(call: Exchange) -> Iterator[str]:
    """Yield what there is to know of a call at a glance."""
    request, response = call.request, call.response
    _, tokens = usage_of(request, response or Response(0))
    status = str(response.status) if response else "no response"
    about = [status, one_line(call.kind, 20), model_of(call) or "", f"{call.seconds:.3f} s"]
    yield f"{call.seq + 1:>4}  {one_line(f'{request.method} {request.url}', 160)}  {'  '.join(filter(None, about))}"
    prompt, answer = _first_line(asked(request)), _first_line(answered(response)) if response else ""
    yield f"      asked    {prompt or _bytes(len(request.body))}"
    if response is not None:
        left = ", until the client closed the stream" if not response.complete else ""
        yield f"      answer   {answer or _bytes(len(response.body))}{left}"
    if call.failure is not None:
        yield f"      failure  {one_line(f'{call.failure.kind}: {call.failure.message}')}"
    if tokens is not None:
        yield f"      tokens   {_counted(tokens)}"


def _first_line(text: str) -> str:
    return one_line(text.strip().partition("\n")[0], 100)


def _bytes(count: int) -> str:
    return f"({plural(count, 'byte')})"


def _counted(tokens: Tokens) -> str:
    return ", ".join(
        f"{count:,} {name.replace('_', ' ')}" for name, count in tokens._asdict().items() if count is not None
    )


def _plain(call: Exchange, *, detailed: bool) -> dict[str, Any]:
    request, response = call.request, call.response
    model, tokens = usage_of(request, response or Response(0))
    plain: dict[str, Any] = {
        "number": call.seq + 1,
        "key": call.key,
        "kind": call.kind,
        "recorded_at": call.at,
        "seconds": call.seconds,
        "method": request.method,
        "url": request.url,
        "status": response.status if response else None,
        "complete": response.complete if response else None,
        "failure": call.failure and call.failure._asdict(),
        "model": model,
        "tokens": tokens and {name: count for name, count in tokens._asdict().items() if count is not None},
        "asked": asked(request),
        "answer": answered(response) if response else None,
    }
    if detailed:
        plain["request"] = {
            "headers": _grouped(request.headers),
            "others": None if request.others is None else dict(request.others),
            "body": _readable(request.body),
        }
        plain["response"] = response and {
            "reason": response.reason,
            "http_version": response.http_version,
            "headers": _grouped(response.headers),
            "chunks": [_readable(chunk) for chunk in response.chunks],
            "offsets": list(response.offsets),
        }
    return plain


def _grouped(headers: Headers) -> Mapping[str, list[str]]:
    return {name: [value for other, value in headers if other == name] for name, _ in headers}


def _readable(data: bytes) -> Any:
    value = json_of(data)
    if value is not None:
        return value
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode("ascii")}


def printable(text: str) -> str:
    """Return `text` with all that would steer a terminal written as an escape; lines stay lines."""
    return "".join(
        char
        if char == "\n" or char.isprintable() or unicodedata.category(char) == "Zs"
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )


def whole(exchange: Exchange) -> Iterator[str]:
    """Yield both sides of a call, line by line: JSON indented, a stream chunk by chunk."""
    request, response, failure = exchange.request, exchange.response, exchange.failure
    yield printable(f"{request.method} {request.url}").replace("\n", "\\n")
    yield from _headers(request.headers)
    others = request.others or ()
    yield from _headers(tuple((name, f"[digest {digest}]" if digest else "[not compared]") for name, digest in others))
    yield from ("", *_body(b"".join(decoded(request.headers, (request.body,)) or ()), request.body))
    if response is not None:
        yield ""
        yield printable(f"{response.http_version} {response.status} {response.reason}").rstrip().replace("\n", "\\n")
        yield from _headers(response.headers)
        yield ""
        chunks = decoded(response.headers, response.chunks)
        if len(response.chunks) > 1 and chunks is not None:
            for number, chunk in enumerate(chunks, 1):
                at = f" after {response.offsets[number - 1]:.3f} s" if number <= len(response.offsets) else ""
                yield f"-- chunk {number} of {len(chunks)}, {len(response.chunks[number - 1]):,} bytes{at}"
                yield from printable(chunk.decode("utf-8", "backslashreplace").rstrip("\n")).split("\n")
        else:
            yield from _body(b"".join(chunks or ()), response.body)
        if not response.complete:
            yield "-- the client closed the stream before its end"
    if failure is not None:
        yield f"-- ended by {printable(f'{failure.kind}: {failure.message}')}"


def _headers(headers: tuple[tuple[str, str], ...]) -> Iterator[str]:
    return (printable(f"{name}: {value}").replace("\n", "\\n") for name, value in headers)


def _body(readable: bytes, raw: bytes) -> Iterator[str]:
    if not raw:
        yield "-- no body"
        return
    value = json_of(readable.strip())
    if value is not None:
        yield from printable(json.dumps(value, indent=2, ensure_ascii=False)).split("\n")
        return
    try:
        text = readable.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text:
        yield from printable(text.rstrip("\n")).split("\n")
    else:
        yield f"-- {len(raw):,} bytes that are not text"
