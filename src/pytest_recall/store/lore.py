"""Lore's recordings: NDJSON lines `{seq, ts, request, response, wasStreaming, model}`.

Lore appends a line when a call ends and counts `seq` from 0 when a recording begins, so a
line that is cut off, a number that is missing, and a second recording in the same file are
all seen. A file that ends early at the end of a line is not: there is no end mark and no
count. Neither URL, status nor headers are kept; an answer that is an error gets the status
that its type has with Anthropic.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_recall.core.errors import RecallError
from pytest_recall.core.exchange import ANTHROPIC_STATUS, Exchange, Request, Response
from pytest_recall.store.files import read_text

ANTHROPIC = "https://api.anthropic.com/v1/messages"
_FIX = "restore it, or record it again"
_FIELDS = {"seq": int, "ts": int | float, "request": dict, "response": dict | list | str, "wasStreaming": bool}
_ENDS = ("event: message_stop", "event: response.completed", "event: error", "data: [DONE]")


def import_lore(path: Path, url: str = ANTHROPIC, name: str | None = None) -> list[Exchange]:
    """Return the calls of a recording of Lore, in the order in which they began. Raises RecallError."""
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
    return [found[seq][1] for seq in range(len(found))]


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
        raise RecallError(f"{place}: `ts` is no time in milliseconds; {_FIX}") from None
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
