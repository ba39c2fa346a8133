"""Read the recordings of Lore: NDJSON lines `{seq, ts, request, response, wasStreaming, model}`.

Lore appends a line when a call ends and counts `seq` from 0 when a recording begins, so a
line that is cut off, a number that is missing, and a second recording in the same file are
all seen. A file that ends early at the end of a line is not: there is no end mark and no
count; only a tool call that no later call answers is a sign of it, which is told. Neither
URL, status nor headers are kept; an answer that is an error gets the status that its type
has with Anthropic.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_recall.files.disk import read_text
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.replay.encodings import json_of
from pytest_recall.replay.exchange import ANTHROPIC_STATUS, Exchange, Request, Response

ANTHROPIC = "https://api.anthropic.com/v1/messages"
_FIX = "restore it, or record it again"
_FIELDS = {"seq": int, "ts": int | float, "request": dict, "response": dict | list | str, "wasStreaming": bool}
_ENDS = ("event: message_stop", "event: response.completed", "event: error", "data: [DONE]")


def import_lore(
    path: Path, url: str = ANTHROPIC, name: str | None = None, tell: Callable[[str], None] = lambda note: None
) -> list[Exchange]:
    """Return the calls of a recording of Lore, in the order in which they began.

    `tell` is told of a tool call at the end that nothing answers. Raises RecallError.
    """
    name = name or str(path)
    text = read_text(path, name)
    *lines, last = text.split("\n")
    if last:
        raise RecallError(f"{name}:{len(lines) + 1}: cut off in its last line; {_FIX}")
    if not lines:
        raise RecallError(f"{name}:1: empty; {_FIX}")
    found: dict[int, tuple[int, Exchange]] = {}
    for number, line in enumerate(lines, 1):
        exchange = _exchange(line, url, f"{name}:{number}")
        if exchange.seq in found:
            before = found[exchange.seq][0]
            raise RecallError(
                f"{name}:{number}: seq {exchange.seq} is in line {before} already, so these are two recordings;"
                " keep one of them in a file"
            )
        found[exchange.seq] = (number, exchange)
    for seq in range(len(found)):
        if seq not in found:
            number = min(number for number, exchange in found.values() if exchange.seq > seq)
            raise RecallError(f"{name}:{number}: seq {seq} is missing, whose call was lost; {_FIX}")
    exchanges = [found[seq][1] for seq in range(len(found))]
    if unanswered := _unanswered(exchanges):
        seq, tool = unanswered
        tell(
            f"{name}:{found[seq][0]}: asks for the tool `{one_line(tool, 60)}`, and no later call answers it;"
            " the recording may have ended before its session did"
        )
    return exchanges


def _unanswered(exchanges: Iterable[Exchange]) -> tuple[int, str] | None:
    """Return the last call that asks for a tool, and the tool, if no later call says what the tool gave."""
    last: dict[str, tuple[int, str]] = {}
    for exchange in exchanges:
        for given in _mappings(exchange.request.body):
            for field in ("tool_use_id", "tool_call_id", "call_id"):
                if field != "call_id" or str(given.get("type")).endswith("_output"):
                    last.pop(str(given.get(field)), None)
        asked = exchange.response.body if exchange.response else b""
        wanted = [tool for given in _mappings(asked) for tool in _tools(given)]
        if wanted:
            last = {called: (exchange.seq, tool) for called, tool in wanted}
    return next(iter(last.values()), None)


def _tools(given: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the id and the name of each tool that a part of an answer asks for."""
    if given.get("type") in ("tool_use", "function_call"):
        yield str(given.get("call_id") or given.get("id")), str(given.get("name"))
    calls = given.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        # Later pieces of a stream repeat neither id nor name.
        if isinstance(call, dict) and call.get("id"):
            function = call.get("function")
            yield str(call["id"]), str(function.get("name") if isinstance(function, dict) else call.get("name"))


def _mappings(body: bytes) -> Iterator[dict[str, Any]]:
    """Yield every mapping in a body, which is JSON or a stream of events."""
    left: list[Any] = [json_of(body)]
    if left == [None]:
        left = [json_of(line[5:].strip()) for line in body.split(b"\n") if line.startswith(b"data:")][::-1]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            yield value
            left.extend(value.values())
        elif isinstance(value, list):
            left.extend(value)


def _exchange(line: str, url: str, place: str) -> Exchange:
    try:
        given = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise RecallError(f"{place}: not a line of JSON ({error}); {_FIX}") from None
    if not isinstance(given, dict):
        raise RecallError(f"{place}: must be an object; {_FIX}")
    for field, kind in _FIELDS.items():
        value = given.get(field)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise RecallError(f"{place}: `{field}` is missing, or is not what Lore writes; {_FIX}")
    if given["seq"] < 0:
        raise RecallError(f"{place}: `seq` is less than 0; {_FIX}")
    try:
        at = datetime.fromtimestamp(given["ts"] / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        raise RecallError(f"{place}: `ts` is not a time in milliseconds; {_FIX}") from None
    body = json.dumps(given["request"], ensure_ascii=False, separators=(",", ":"))
    request = Request("POST", url, (("content-type", "application/json"),), _raw(body))
    return Exchange("", given["seq"], "agent", request, _response(given, place), at=at)


def _response(given: dict[str, Any], place: str) -> Response:
    answer = given["response"]
    if not isinstance(answer, str):
        status = _status(answer)
        if given["wasStreaming"] and status == 200:
            raise RecallError(f"{place}: the answer was streamed, and its stream was not kept; {_FIX}")
        text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
        headers = (("content-type", "application/json"),)
        return Response(status, "OK" if status == 200 else "", headers, (_raw(text),))
    if not answer.startswith(("event:", "data:")):
        raise RecallError(f"{place}: the answer is neither JSON nor a stream of events; {_FIX}")
    if not answer.endswith(("\n\n", "\r\n\r\n")):
        raise RecallError(f"{place}: the stream is cut off within an event; {_FIX}")
    complete = any(line.startswith(_ENDS) for line in answer.splitlines()[-8:])
    return Response(200, "OK", (("content-type", "text/event-stream"),), (_raw(answer),), complete=complete)


def _status(answer: Any) -> int:
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return 200
    return ANTHROPIC_STATUS.get(str(error.get("type")), 500)


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields
