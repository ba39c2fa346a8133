"""The command `recall cassettes show`: what one cassette holds, call by call or one call whole."""

from __future__ import annotations

import argparse
import json
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_recall.cli.common import Commands, command, context_of, place_of
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line, plural
from pytest_recall.replay.cassette_file import Cassette, read_draft
from pytest_recall.replay.cassette_library import DRAFTS
from pytest_recall.replay.commands.listing import add_folder, find, library_of, model_of, since, size, titled
from pytest_recall.replay.encodings import decoded, json_of
from pytest_recall.replay.exchange import Exchange, Headers, Response, Tokens
from pytest_recall.replay.wire_formats import answered, asked, usage_of
from pytest_recall.runs.context import CommandLine

SHOW_DETAILS = """\
CASSETTE is the id of a case, or SCENARIO/CASE, or the name of a fixture: of several recordings the
one that counts is shown. Any other is shown by its file, or, in a file of recordings, by its name
there, "eval/runs/FILE: SCENARIO/CASE.ndjson", as `recall cassettes list --json` prints both. What
was recorded is printed with its control characters written out, so that it cannot steer the terminal.
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
    library = library_of(place, args)
    path = find(library, place, args.cassette)
    name = library.name(path)
    if DRAFTS in path.parts:
        header, calls = read_draft(path, name)
    else:
        cassette = Cassette(path, name, rubric.rules())
        header, calls = cassette.header, list(cassette.exchanges())
    if args.call is not None:
        calls = [call for call in calls if call.seq + 1 == args.call]
        if not calls:
            raise RecallError(f"{name}: has no call {args.call}; `recall cassettes show {args.cassette}` lists them")
    if args.json:
        plain = [_plain(call, detailed=args.call is not None) for call in calls]
        print(json.dumps({"path": name, "header": header, "calls": plain}, indent=2))
    elif args.call is not None:
        print("\n".join(line for call in calls for line in (_numbered(call), "", *whole(call))))
    else:
        first = since(header, calls)
        age = f", {plural((context.date - first).days, 'day')} old" if first else ""
        print(f"{name}\n  {titled(header)}{', unfinished draft' if DRAFTS in path.parts else ''}")
        print(f"  recorded {one_line(str(header.get('recorded_at', '?')), 40)}{age}")
        print(f"  {plural(len(calls), 'call')}, {size(path.stat().st_size)}")
        print("\n".join(line for call in calls for line in ("", *_short(call))))
    return 0


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
