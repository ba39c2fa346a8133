"""Search what is recorded for secrets part by part, and name each part that holds one, but nothing of the secret.

It is one search for what is about to be written, for what is about to be published, and for `recall cassettes scan`: a
call is searched in the lines that a cassette would have of it, and its answer as it came.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from pytest_recall.files.errors import UnrecordableError
from pytest_recall.files.wording import one_line
from pytest_recall.replay.cassette_lines import call_lines, encode
from pytest_recall.replay.encodings import (
    MAX_PLAIN_BYTES,
    decoded,
    in_url,
    package_to_install,
    pairs,
    spelled,
    unpacks_too_far,
)
from pytest_recall.replay.exchange import Exchange, Headers, Response
from pytest_recall.replay.matching import Rules
from pytest_recall.replay.redaction import Redactor, with_fixed_boundary
from pytest_recall.replay.secrets import suspicious
from pytest_recall.replay.token_requests import is_form


class RecordedPart(NamedTuple):
    """A stretch of recorded text."""

    what: str
    text: str
    is_url: bool = False
    """Whether it may hold URLs with parameters."""
    is_sealed: bool = False
    """Whether it could not be unpacked."""
    is_joined: bool = False
    """Whether it is what was there before in another form: what the events of a stream say together, or a form without
    its signs."""
    written: str = ""
    """How it stands in the line; empty where more may stand there than the text."""


class FoundSecret(NamedTuple):
    """The part in which a secret stands, and what kind of secret it is: `the value of NAME`, or what it looks like."""

    part: str
    kind: str


def looks_of(part: RecordedPart) -> list[str]:
    """Return the kinds of credentials that a part looks to hold."""
    return [f"what looks like {kind}" for kind in suspicious(in_url(part.text) if part.is_url else part.text)]


def secrets_in(
    line: bytes, find: Callable[[RecordedPart], list[str]] = looks_of, more: Iterable[RecordedPart] = ()
) -> Iterator[FoundSecret]:
    """Yield what `find` names in a line: by its parts, or else anywhere in it, as in one that is damaged or unknown.

    `more` are parts of it that it is given without.
    """
    is_clean = True
    plain: list[str] = []
    for part in chain(parts_of(line), more):
        kinds = find(part)
        if part.is_joined:
            kinds = [kind for kind in kinds if kind not in plain]
        else:
            plain = kinds
            if part.written:
                line = line.replace(part.written.encode("utf-8", "surrogatepass"), b"", 1)
        for kind in kinds:
            is_clean = False
            # The name of a header is anyone's text as well.
            yield FoundSecret("a header" if find(part._replace(text=part.what)) else part.what, kind)
    if is_clean:
        for kind in find(RecordedPart("the line", line.decode("utf-8", "replace"))):
            yield FoundSecret("the line", kind)


def cleaned(exchange: Exchange, redactor: Redactor) -> Exchange:
    """Return the call without the values of known secrets, its key as it was, and what is random in it fixed.

    Raises UnrecordableError, in words that follow the name of the call, for one that cannot be searched
    or still holds what looks like a key.
    """
    response, failure = exchange.response, exchange.failure
    if response is not None:
        response = redactor.response(response)
        plain = decoded(response.headers, response.chunks)
        if plain is None:
            if unpacks_too_far(response.headers, response.chunks):
                raise UnrecordableError(
                    "size",
                    f"has an answer that is larger than {MAX_PLAIN_BYTES >> 20} MB when it is unpacked, which is not"
                    " searched for secrets; let the agent ask for less at once",
                )
            package = package_to_install(response.headers)
            raise UnrecordableError(
                "encoding",
                f"has an answer in the encoding {response.header('content-encoding')!r}, which cannot be searched for"
                f" secrets; {f'install {package}, or ' if package else ''}let the client ask for gzip or none",
            )
    if failure is not None:
        failure = redactor.failure(failure)
    request = with_fixed_boundary(redactor.request(exchange.request))
    clean = exchange._replace(request=request, response=response, failure=failure)
    is_spelled = False

    def find(part: RecordedPart) -> list[str]:
        nonlocal is_spelled
        is_spelled = is_spelled or (part.is_joined and redactor.text(part.text) != part.text)
        return looks_of(part)

    found = _kinds_in(clean, find)
    if is_spelled and response is not None:
        clean = clean._replace(response=redactor.across_events(response))
        found = _kinds_in(clean, looks_of)
    if found:
        named = ", ".join(f"{kind} in {' and '.join(parts)}" for kind, parts in found.items())
        raise UnrecordableError("secret", f"holds {named}; set the variable that holds it, or name it under `secrets`")
    return clean


def _kinds_in(exchange: Exchange, find: Callable[[RecordedPart], list[str]]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    response = exchange.response
    answer: Iterable[RecordedPart] = ()
    if response is not None:
        # It may be large: it is searched as it is, and not written into a line and read from there first.
        answer = _answer(response)
        exchange = exchange._replace(response=response._replace(chunks=(), offsets=()))
    *lines, call = call_lines(exchange, set(), Rules())
    for one in chain(*(secrets_in(line, find) for line in lines), secrets_in(call, find, answer)):
        found.setdefault(one.kind, {})[one.part] = None
    return found


def parts_of(line: bytes) -> Iterator[RecordedPart]:
    """Yield the texts of a line of a cassette, bodies out of their encodings; none for what is no such line."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return
    if not isinstance(fields, dict):
        return
    if "item" in fields or "value" in fields:
        yield RecordedPart("a part of a request body", _written({name: fields.get(name) for name in ("item", "value")}))
    yield from _side("request", fields.get("request"))
    yield from _side("response", fields.get("response"))
    if isinstance(failure := fields.get("failure"), dict):
        yield RecordedPart("the failure", str(failure.get("message", "")), is_url=True)


def _side(name: str, side: Any) -> Iterator[RecordedPart]:
    if not isinstance(side, dict):
        return
    if isinstance(uri := side.get("uri"), str):
        yield RecordedPart("the URL", uri, is_url=True)
    grouped = side.get("headers")
    headers: list[tuple[str, str]] = []
    for header, values in grouped.items() if isinstance(grouped, dict) else ():
        headers += ((header, str(value)) for value in (values if isinstance(values, list) else [values]))
    for header, value in headers:
        is_url = header.lower() in ("location", "operation-location")
        yield RecordedPart(f"the {name} header {one_line(header, 60)}", f"{header}: {value}", is_url=is_url)
    if isinstance(status := side.get("status"), dict):
        yield RecordedPart("the reason", str(status.get("message", "")))
    body = side.get("body")
    if not isinstance(body, dict):
        return
    if isinstance(encoded := body.get("base64"), str):
        try:
            data = b64decode(encoded)
        except ValueError:
            return
        text, is_plain, is_sealed = _read(tuple(headers), data)
        is_all = is_plain and b64encode(data).decode("ascii") == encoded
        yield from _text(name, text, is_sealed=is_sealed, written=encoded if is_all else "")
    elif isinstance(string := body.get("string"), str):
        yield from _string(name, tuple(headers), string, written=encode(string)[1:-1])
    else:
        yield RecordedPart(f"the {name} body", _written(body))


def _answer(response: Response) -> Iterator[RecordedPart]:
    """Yield the texts of an answer as `_side` does of what is written of it."""
    data = response.body
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text, _, is_sealed = _read(response.headers, data)
        yield from _text("response", text, is_sealed=is_sealed)
    else:
        yield from _string("response", response.headers, text)


def _read(headers: Headers, data: bytes) -> tuple[str, bool, bool]:
    """Return a body as text, whether it was in no encoding, and whether it is in one that is not known here."""
    plain = decoded(headers, (data,))
    readable = data if plain is None else plain[0]
    return readable.decode("utf-8", "replace"), readable is data, plain is None


def _string(name: str, headers: Headers, text: str, *, written: str = "") -> Iterator[RecordedPart]:
    yield from _text(name, text, written=written)
    if is_form(headers):
        yield RecordedPart(f"the {name} body", pairs(text), is_joined=True)


def _text(name: str, text: str, *, is_sealed: bool = False, written: str = "") -> Iterator[RecordedPart]:
    yield RecordedPart(f"the {name} body", text, is_sealed=is_sealed, written=written)
    for joined in spelled(text):
        yield RecordedPart(f"the {name} body (events joined)", joined, is_joined=True)


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
