"""Redact the sides of an exchange: every known secret is replaced by its name.

The addresses of Python objects (`replay.addresses`) are replaced in the same way, so that they are neither written nor
matched. The random text between the parts of an upload is fixed.

It works in memory alone: which values are secret is decided in `replay.secrets`, which tokens answers hand out in
`replay.tokens`, and what is written is searched last, in `replay.recorded_parts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import unquote

from pytest_recall.replay.addresses import ADDRESS, BEFORE_ADDRESS, addresses
from pytest_recall.replay.encodings import decoded, has_wrapped_base64
from pytest_recall.replay.exchange import URLS, Failure, Headers, Kept, Request, Response, scrubbed
from pytest_recall.replay.forks import lock
from pytest_recall.replay.secrets import Spelling, spellings
from pytest_recall.replay.token_requests import REDACTED, is_form, proof_of, without_proof
from pytest_recall.replay.tokens import MARK, NAME, by_name

EVERY: Final = Kept()
"""The headers that are stored where no rubric says more."""

_Chunks = tuple[bytes, ...]

# Names of query parameters, lower case and with `_` for `-`. Compiled when a URL with some is written down.
_CREDENTIAL_PARAMETERS = (
    r"(?:x_amz_|x_goog_)?(?:signature|credential|security_token)|sig|code|auth|pwd|passwd|password|awsaccesskeyid"
    r"|(?:api_?|access_|subscription_)?key|(?:access_|auth_|id_|refresh_)?token|(?:client_)?secret|client_assertion|upload_?id"
)
_HOST = re.compile(r"(?<=://)[^/?#\s\"<>]+")
_BRACKETS = re.compile(r"\[([\w.-]+)\]")  # An address of version 6 holds colons.
_LONG = 16
_ROUNDS = 20
_SHORTEST_TOKEN = 8
"""A shorter one is replaced where it is handed out, and may be a word elsewhere."""
_USERINFO = re.compile(r"(?<=://)[^/?#\s\"<>]*@")
_MINTED = re.compile(rf"\[{NAME}\]")
_PARAMETER = re.compile(r"(?<=[?&#])([^=?&#\s]+)=([^&#\s\"<>]+)")
_BOUNDARY = re.compile(rb"\Amultipart/[^;]+;(?:[^;]*;)*? *boundary=\"?([^\";]+)\"?", re.IGNORECASE)
_INNER_BOUNDARY = re.compile(
    rb"^content-type: *multipart/[^;\r\n]+;(?:[^;\r\n]*;)*? *boundary=\"?([^\";\r\n]+)\"?", re.IGNORECASE | re.MULTILINE
)
FIXED_BOUNDARY = "recall-boundary"
"""What stands in a recorded upload for the random text between its parts."""
_RANDOM = 16


class _Span(NamedTuple):
    """A stretch of bytes and what stands there instead."""

    start: int
    end: int
    placeholder: bytes


class _Finder:
    """Finds the known secrets in bytes, with one quick look where there are none.

    Of a value of `folds` characters or more the case does not matter: a shorter one may be a word. With `bare`, names
    stand for secrets without their brackets too.
    """

    def __init__(self, secrets: Mapping[str, str], folds: int, *, bare: bool = False) -> None:
        names: dict[str, str] = {}
        for name, value in secrets.items():
            if value.strip():
                names.setdefault(value.strip(), re.sub(r"[^\w.-]", "_", name))
        self._folds = folds
        self._spellings: list[tuple[Spelling, bytes]] = []
        self._folded: set[int] = set()
        self._placeholders = {REDACTED, ADDRESS}
        if bare:
            # A name that holds a secret, as MY_PASSWORD holds `password`, would be replaced without end.
            values = [value.lower() for value in names]
            self._placeholders |= {name for name in names.values() if any(value in name.lower() for value in values)}
        self._compiled: dict[tuple[int, ...], re.Pattern[bytes]] = {}
        self.know(names)

    def know(self, names: Mapping[str, str]) -> None:
        """Find these values as well, each of which has a name."""
        for value, name in sorted(names.items(), key=lambda item: -len(item[0])):
            for way, spelling in enumerate(spellings(value)):
                if way == 0 and len(value) >= self._folds:  # the others are base64, in another case another value
                    self._folded.add(len(self._spellings))
                    spelling = Spelling(spelling.stretch.lower(), b"(?i:%b)" % spelling.expression)
                self._spellings.append((spelling, _raw(f"[{name}]")))
            self._placeholders.add(f"[{name}]")
        written = sorted(self._placeholders)
        self._written = re.compile(b"|".join(re.escape(_raw(placeholder)) for placeholder in written))

    def spans(self, data: bytes) -> list[_Span]:
        """Return where secrets and addresses of objects lie and what replaces them, in order."""
        found = self._secrets(data)
        if BEFORE_ADDRESS not in data:
            return found
        others = [
            _Span(start, end, ADDRESS.encode())
            for start, end in addresses(data)
            if all(end <= span.start or span.end <= start for span in found)
        ]
        return sorted([*found, *others])

    def _secrets(self, data: bytes) -> list[_Span]:
        """Return where secrets lie and what replaces them, in order; placeholders are no secrets."""
        lower = data.lower() if self._folded else data
        is_wrapped = has_wrapped_base64(data)
        hits = tuple(
            index
            for index, (spelling, _) in enumerate(self._spellings)
            if spelling.stretch in (lower if index in self._folded else data)
            or (is_wrapped and any(half in data for half in spelling.halves))
        )
        if not hits:
            return []
        pattern = self._compiled.get(hits)
        if pattern is None:
            pattern = re.compile(b"|".join(b"(%b)" % self._spellings[index][0].expression for index in hits))
            self._compiled[hits] = pattern
        edges = [0, *(edge for match in self._written.finditer(data) for edge in match.span()), len(data)]
        return [
            _Span(*match.span(), self._spellings[hits[(match.lastindex or 1) - 1]][1])
            for start, end in zip(edges[::2], edges[1::2], strict=True)
            for match in pattern.finditer(data, start, end)
        ]


class Redactor:
    """Replaces the values of known secrets by their names in brackets, such as `[OPENAI_API_KEY]`.

    The addresses of objects become `[ADDRESS]`.

    A value is found as it is, URL-encoded, escaped in JSON (also in JSON within JSON) and
    base64-encoded, alone or amid other text as in `user:password`; a longer value goes before a
    shorter one, and of two names with one value the first is written. What already stands as
    `[NAME]` is left alone, so redacting twice is redacting once. A long value is found in any case
    of its letters, and in the host of a URL, which clients write in lower case, each one is; there
    it becomes `NAME`, as brackets in a host mean something else.

    **Matching.** The key of a request is computed from the redacted request, while recording and
    while replaying. Headers that carry credentials are not stored, and credential-like query
    parameters become `[REDACTED]` whatever they hold, so a machine with another key or with none
    computes the same key. That leaves requests which repeat a secret in their path or body: on a
    machine where the variable has another value, that value becomes the same `[NAME]` and matches;
    where the variable is not set there is nothing to replace, the agent sends something else, and
    the request is a miss. A replay can avoid it by setting the missing variable to its own
    placeholder (`OPENAI_API_KEY=[OPENAI_API_KEY]`): then the agent sends what was recorded, and
    this class undoes its URL encoding. The base64 form can not be matched like that, because its
    edges share bits with the text around it.

    **Limits.** A secret that a model spells over several events of a stream is replaced by
    `across_events` alone, as no stretch of bytes holds it. One in a content encoding that cannot
    be undone here (see `replay.encodings`) stays: `replay.recorded_parts` refuses to write such a call. In
    base64 the characters that a secret shares with its neighbours stay.
    """

    def __init__(self, secrets: Mapping[str, str], kept: Kept = EVERY) -> None:
        self._kept = kept
        self.carried: set[str] = set()
        """Credentials of live requests that are no known secrets."""
        self._learned: set[str] = set()
        self._learning = lock()
        self._proofs: dict[str, tuple[str, ...]] = {}
        everywhere = _Finder(secrets, folds=_LONG)
        in_url, in_host = _Finder(secrets, folds=_LONG, bare=True), _Finder(secrets, folds=0, bare=True)
        self._finders = (everywhere, in_url, in_host)
        # A client sends the same headers with every call.
        self._cleaned = lru_cache(maxsize=256)(self._clean)
        self._spans, self._in_url, self._in_host = everywhere.spans, in_url.spans, in_host.spans

    def carry(self, credential: str) -> None:
        """Take in what a live request carries as its credential: an answer before it may have handed it out."""
        if len(credential) >= _SHORTEST_TOKEN and not credential.isdecimal() and self.text(credential) == credential:
            self.carried.add(credential)

    def learn(self, tokens: Mapping[str, str]) -> None:
        """From now on replace these as well: tokens, by the names that were minted for them.

        All tokens of a name are interchangeable, so that each of them is known from then on.
        """
        with self._learning:
            more = {value: name for name, value in tokens.items() if len(value) >= _SHORTEST_TOKEN}
            more = {value: name for value, name in more.items() if value not in self._learned}
            self._learned |= more.keys()
            for finder in self._finders if more else ():
                finder.know(more)
            self._cleaned.cache_clear()

    def is_proven_otherwise(self, key: str, asked: Request, recorded: Request) -> bool:
        """Whether a request for a token was recorded with this key on behalf of someone else, whom nothing names."""
        proof = proof_of(asked, recorded)
        return bool(proof) and self._proofs.setdefault(key, proof) != proof

    def bytes(self, data: bytes) -> bytes:
        """Return `data`, which need not be UTF-8, without the secrets."""
        spans = self._spans(data)
        return _replaced(data, spans) if spans else data

    def text(self, text: str) -> str:
        """Return `text` without the secrets."""
        return _redacted(text, self._spans)

    def redacted(self, text: str) -> str:
        """Return `text` as people may read it: without the secrets, and without what looks like one."""
        from pytest_recall.replay.secrets import hidden

        return hidden(self.text(text))

    def url(self, url: str) -> str:
        """Return `url` without secrets, userinfo and the values of credential-like parameters."""
        # Taking something out may bring together what is a secret again; each round takes out more.
        for _ in range(_ROUNDS):
            cleaner = _without_credentials(_HOST.sub(self._host, _redacted(url, self._in_url)))
            if cleaner == url:
                return url
            url = cleaner
        return _HOST.sub("REDACTED", url)

    def _host(self, match: re.Match[str]) -> str:
        host = _redacted(match[0], self._in_host)
        return _BRACKETS.sub(r"\1", host) if "[" in host else host

    def _header(self, name: str, value: str) -> str:
        return self.url(value) if name in URLS else self.text(value)

    def headers(self, headers: Headers) -> Headers:
        """Return those of the headers of a request that are stored, as they are."""
        kept = self._kept.request
        return self._cleaned(tuple([header for header in headers if header[0].lower() in kept]))

    def _clean(self, headers: Headers) -> Headers:
        return tuple((name, self._header(name.lower(), value)) for name, value in headers)

    def request(self, request: Request) -> Request:
        """Return the request as it may be stored and matched."""
        headers, (body,) = self._body(self.headers(request.headers), (request.body,))
        clean = Request(request.method, self.url(by_name(request.url)), headers, _by_name(body))
        if (asks_token := without_proof(clean, request.headers, _is_credential)) is not None:
            return asks_token
        if is_form(headers):
            form = "&" + clean.body.decode("latin-1")
            clean = clean._replace(body=_PARAMETER.sub(_without_credential, form)[1:].encode("latin-1"))
        return clean

    def response(self, response: Response) -> Response:
        """Return the response as it may be stored: as many chunks, at the same offsets.

        A boundary that fell into a secret moves to the nearer side of what replaces it, so a
        chunk may become empty. A compressed body that held a secret is stored uncompressed.
        """
        headers = tuple(
            (n, self._header(n.lower(), scrubbed(n.lower(), value)))
            for n, value in response.headers
            if self._kept.is_stored(n.lower())
        )
        headers, chunks = self._body(headers, response.chunks)
        return response._replace(reason=self.text(response.reason), headers=headers, chunks=chunks)

    def across_events(self, response: Response) -> Response:
        """Return a streamed response without the secrets that several of its events spell out together.

        The first of these events holds the placeholder, the others less. It takes long: `response` is for all others.
        """
        from pytest_recall.replay.encodings import respelled

        plain = decoded(response.headers, response.chunks)
        found = [] if plain is None else respelled(b"".join(plain), self._pieces)
        if plain is None or not found:
            return response
        headers = response.headers if plain is response.chunks else _without_encoding(response.headers)
        return response._replace(headers=headers, chunks=_rechunked(plain, [_Span(*one) for one in found]))

    def _pieces(self, pieces: _Chunks) -> _Chunks:
        spans = self._spans(b"".join(pieces))
        return _rechunked(pieces, spans) if spans else pieces

    def failure(self, failure: Failure) -> Failure:
        """Return the failure as it may be stored; its message often quotes a URL."""
        return failure._replace(message=self.url(failure.message))

    def _body(self, headers: Headers, chunks: _Chunks) -> tuple[Headers, _Chunks]:
        """Return the headers and chunks of a body without secrets; untouched if it held none."""
        plain = decoded(headers, chunks)
        readable = chunks if plain is None else plain
        spans = self._spans(b"".join(readable))
        if not spans:
            return headers, chunks
        if readable is not chunks:
            headers = _without_encoding(headers)
        return headers, _rechunked(readable, spans)


def _without_encoding(headers: Headers) -> Headers:
    return tuple(header for header in headers if header[0].lower() != "content-encoding")


def boundary_of(request: Request) -> bytes:
    """Return the text that splits a multipart body; nothing for any other."""
    kind = next((value for name, value in request.headers if name.lower() == "content-type"), "")
    found = _BOUNDARY.match(kind.encode("utf-8", "surrogatepass"))
    return found[1] if found else b""


def boundaries_of(request: Request, body: bytes) -> list[bytes]:
    """Return the texts that split a multipart body, then those that split its parts; nothing for any other."""
    outer = boundary_of(request)
    return [outer, *dict.fromkeys(_INNER_BOUNDARY.findall(body))] if outer else []


def with_fixed_boundary(request: Request) -> Request:
    """Return a multipart request with a text between its parts that is the same each time; any other as it is."""
    split_by = boundary_of(request)
    # A short one that is chosen by hand may stand in the content as well.
    if len(split_by) < _RANDOM or split_by not in request.body:
        return request
    before = split_by.decode("utf-8", "surrogatepass")
    headers = tuple(
        (name, value.replace(before, FIXED_BOUNDARY) if name.lower() == "content-type" else value)
        for name, value in request.headers
    )
    return request._replace(headers=headers, body=request.body.replace(split_by, FIXED_BOUNDARY.encode()))


def _without_credentials(text: str) -> str:
    """Return a URL, or text with URLs in it, without userinfo and values of credential-like parameters."""
    text = _USERINFO.sub("", text) if "@" in text else text
    return _PARAMETER.sub(_without_credential, text) if "=" in text else text


def _without_credential(match: re.Match[str]) -> str:
    if not _is_credential(unquote(match[1])) or _MINTED.fullmatch(match[2]):
        return match[0]
    return f"{match[1]}={REDACTED}"


def _is_credential(name: str) -> bool:
    """Whether the value of a parameter is never recorded."""
    return re.fullmatch(_CREDENTIAL_PARAMETERS, name.lower().replace("-", "_")) is not None


def _by_name(body: bytes) -> bytes:
    """Return a body with the plain placeholders of minted tokens, also where those were encoded or moved in time."""
    if MARK.encode() not in body:
        return body
    return by_name(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _raw(text: str) -> bytes:
    """Return the bytes of any string that Python can hold."""
    return text.encode("utf-8", "surrogatepass")


def _redacted(text: str, find: Callable[[bytes], list[_Span]]) -> str:
    data = _raw(text)
    spans = find(data)
    return _replaced(data, spans).decode("utf-8", "surrogatepass") if spans else text


def _replaced(data: bytes, spans: list[_Span]) -> bytes:
    pieces, end = [], 0
    for span in spans:
        pieces += [data[end : span.start], span.placeholder]
        end = span.end
    return b"".join([*pieces, data[end:]])


def _rechunked(chunks: _Chunks, spans: list[_Span]) -> _Chunks:
    """Return the chunks of the redacted body, cut where the chunks of the body were cut."""
    body = b"".join(chunks)
    clean = _replaced(body, spans)
    cuts, shift, reached, at = [0], 0, 0, 0
    for chunk in chunks:
        at += len(chunk)
        while reached < len(spans) and spans[reached].end <= at:
            shift += len(spans[reached].placeholder) - (spans[reached].end - spans[reached].start)
            reached += 1
        cut = at + shift
        if reached < len(spans) and (span := spans[reached]).start < at:
            cut = span.start + shift
            if at - span.start >= span.end - at:
                cut += len(span.placeholder)
        cuts.append(cut)
    return tuple(clean[start:end] for start, end in pairwise(cuts))
