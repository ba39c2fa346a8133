"""One call to an upstream server: request and response as they are recorded, and the call as a trial keeps it.

A request is matched by the headers that ask for something: what is to be done, of which version, in which form or
part. Most others tell of the client, the account or the connection, and change with every run; for those that do not,
see `replay.other_headers`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, get_args

from pytest_recall.files.coerce import typed
from pytest_recall.replay.hosts import is_telemetry

_NO_CONNECTION = frozenset(
    {
        "ClientConnectorDNSError",
        "ClientConnectorError",
        "ConnectError",
        "ConnectTimeout",
        "ConnectTimeoutError",
        "ConnectionRefusedError",
        "NameResolutionError",
        "NewConnectionError",
        "PoolTimeout",
        "SSLCertVerificationError",
        "gaierror",
    }
)
ANTHROPIC_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""What Anthropic calls an error, and its status (https://docs.claude.com/en/api/errors)."""
CANCELLED = "CancelledError"
"""The exception of asyncio, by name: it is not imported for those who do not use it."""
Headers = tuple[tuple[str, str], ...]
"""Names and values in the order of the wire; a name may occur twice."""


class Request(NamedTuple):
    """What was asked of an upstream."""

    method: str
    url: str
    """Absolute."""
    headers: Headers = ()
    body: bytes = b""
    """What went over the wire."""
    others: Headers | None = None
    """The headers that a recording does not store, by lower-case name with a digest of the value, which is empty where
    that may be a secret; None where the recording does not say."""

    @property
    def line(self) -> str:
        """The method and the URL, by which messages name the call."""
        return f"{self.method} {self.url}"


class Response(NamedTuple):
    """What the upstream sent."""

    status: int
    reason: str = ""
    headers: Headers = ()
    chunks: tuple[bytes, ...] = ()
    """The pieces of the body as they arrived, still in their content encoding."""
    offsets: tuple[float, ...] = ()
    """The seconds from the request to each of these."""
    http_version: str = "HTTP/1.1"
    complete: bool = True
    """False if the client closed the stream before its end, so that it is unknown what would have followed."""

    @property
    def body(self) -> bytes:
        """All chunks in one."""
        return b"".join(self.chunks)

    def header(self, name: str) -> str | None:
        """Return the first value of the header `name`, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Failure(NamedTuple):
    """How an exchange ended that the network cut short."""

    kind: str
    """The name of the exception that the HTTP client raised, such as `ReadTimeout` or `ConnectError`."""
    message: str
    """The text of the exception."""

    @property
    def is_unsent(self) -> bool:
        """Whether no connection came about, so that nothing was sent and nothing is billed."""
        return self.kind in _NO_CONNECTION


class Exchange(NamedTuple):
    """One call: its key, its place in the order of the calls, and both of its sides."""

    key: str
    seq: int
    """Its place in the order of the calls."""
    kind: str
    """Who asked: `agent`, `judge` or `worker`."""
    request: Request
    response: Response | None
    """With a `failure`, what had come before that, or None."""
    failure: Failure | None = None
    at: str = ""
    """In ISO 8601, in UTC."""
    seconds: float = 0.0
    """From the request to the end of the response."""
    phase: str = ""
    """`teardown` for a call that the end of a fixture made, after the test; else empty."""
    batched: bool = False
    """Whether it went through a batch API; a cassette does not tell."""
    background: bool = False
    """Whether it is a call of a thread that was there before the test."""

    @property
    def is_refused(self) -> bool:
        """Whether the upstream refused it, or was never sent it, so that it is not billed."""
        if self.response is not None:
            return self.response.status >= 400
        return self.failure is not None and self.failure.is_unsent

    @property
    def is_answered(self) -> bool:
        """Whether the upstream has answered it, as a whole and with no error."""
        return self.failure is None and self.response is not None and self.response.complete and not self.is_refused

    @property
    def may_be_left(self) -> bool:
        """Whether it need not be asked again: it belongs to no case, or was given up before anything had come of it.

        The latter is the loser of a race, which in another run is cancelled before it asks.
        """
        if self.background or is_telemetry(self.request.url):
            return True
        if self.failure is not None:
            return self.failure.kind == CANCELLED
        return self.response is not None and not self.response.complete and not any(self.response.chunks)


CUT, REFUSED = "cut-off", "refused"
"""An answer that ended at the limit of tokens, and one that the provider or the model withheld."""


MATCHED: Final[frozenset[str]] = frozenset(
    {
        "accept",
        "accept-language",
        "accept-version",
        "anthropic-beta",
        "anthropic-version",
        "api-version",
        "consistencylevel",
        "content-range",
        "depth",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "linkedin-version",
        "notion-version",
        "openai-beta",
        "prefer",
        "range",
        "soapaction",
        "stripe-version",
        "upload-offset",
        "x-amz-target",
        "x-amzn-bedrock-guardrailidentifier",
        "x-amzn-bedrock-guardrailversion",
        "x-api-version",
        "x-github-api-version",
        "x-goog-fieldmask",
        "x-goog-upload-command",
        "x-goog-upload-offset",
        "x-http-method",
        "x-http-method-override",
        "x-method-override",
        "x-ms-version",
        "x-restli-method",
        "x-restli-protocol-version",
    }
)
"""Request headers that change an answer, lower case."""
FIRST_MATCHED: Final = frozenset({"accept", "anthropic-beta", "anthropic-version", "openai-beta"})
"""Those of them that are in a recording which does not say by which headers it was made."""
DESCRIBING: Final = frozenset({"content-encoding", "content-type", "mcp-protocol-version"})
"""Request headers that are stored beside those: how to read the body, and what a recording was made with."""
CREDENTIALS: Final = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "ocp-apim-subscription-key",
        "proxy-authorization",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    }
)
"""Request headers that are never stored, and so cannot be matched."""

STORED_RESPONSE: Final = frozenset(
    {
        "accept-ranges",
        "apim-request-id",
        "cache-control",
        "content-disposition",
        "content-encoding",
        "content-language",
        "content-location",
        "content-range",
        "content-type",
        "etag",
        "last-modified",
        "link",
        "location",
        "mcp-protocol-version",
        "mcp-session-id",
        "openai-processing-ms",
        "openai-version",
        "operation-location",
        "preference-applied",
        "request-id",
        "retry-after",
        "retry-after-ms",
        "set-cookie",
        "transfer-encoding",
        "upload-length",
        "upload-offset",
        "vary",
        "www-authenticate",
        "x-amzn-bedrock-input-token-count",
        "x-amzn-bedrock-output-token-count",
        "x-amzn-errortype",
        "x-amzn-requestid",
        "x-goog-upload-chunk-granularity",
        "x-goog-upload-control-url",
        "x-goog-upload-size-received",
        "x-goog-upload-status",
        "x-goog-upload-url",
        "x-has-more",
        "x-next-cursor",
        "x-next-page",
        "x-page",
        "x-per-page",
        "x-prev-page",
        "x-request-id",
        "x-should-retry",
        "x-total",
        "x-total-count",
        "x-total-pages",
    }
)
"""Response headers that are stored: what a client acts on, and what names the call to its vendor.

`content-length` is not, which a redacted body belies.
"""
_RATES: Final = ("anthropic-ratelimit-", "ratelimit", "x-ratelimit-")
"""How the names of rate limits begin, which are stored as well."""
URLS: Final = frozenset(
    {"content-location", "link", "location", "operation-location", "x-goog-upload-control-url", "x-goog-upload-url"}
)
"""Headers that hold URLs, whose credentials are taken out."""
_SESSION = "mcp-session-id"
_COOKIE = re.compile(r"\A([^=;]*)=[^;]*")
# What a client says that takes anything: it asks for nothing in particular.
_ANY_TYPE = frozenset({"", "*/*", "application/json", "text/event-stream"})


class Kept(NamedTuple):
    """Which headers of a request and of a response are stored: those of a set, or of a rubric."""

    request: frozenset[str] = MATCHED | DESCRIBING
    response: frozenset[str] = STORED_RESPONSE

    def is_stored(self, name: str) -> bool:
        """Whether the response header with a lower-case name is stored."""
        return name in self.response or name.startswith(_RATES)


def scrubbed(name: str, value: str) -> str:
    """Return the value of a response header without what lets in who has it; a placeholder stands there.

    A client sends it back in a header that is not matched, so that a replay goes on with the placeholder.
    """
    if name == "set-cookie":
        return _COOKIE.sub(r"\1=[COOKIE]", value, count=1)
    return "[MCP_SESSION_ID]" if name == _SESSION else value


def asking(headers: Headers, names: Collection[str]) -> dict[str, str]:
    """Return the headers of a request by which it is matched, in one way to write them, by lower-case names."""
    found: dict[str, str] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in names:
            found[lower] = f"{found[lower]},{value}" if lower in found else value
    return {name: value for name in sorted(found) if (value := _normal(name, found[name]))}


def _normal(name: str, value: str) -> str:
    parts = [" ".join(part.split()) for part in value.split(",")]
    if name == "accept":
        types = {part.partition(";")[0].strip().lower() for part in parts}
        return ",".join(sorted(types - _ANY_TYPE))
    if name.endswith("-beta"):
        parts.sort()
    return ",".join(part for part in parts if part)


_WAITS = ("retry-after", "retry-after-ms")


def patient(status: int, headers: Headers) -> Headers:
    """Return `headers` that make no client wait before it tries again: the recording has the next answer already."""
    if status < 400:
        return headers
    kept = tuple((name, value) for name, value in headers if name.lower() not in _WAITS)
    return (*kept, ("retry-after", "0"), ("retry-after-ms", "1"))


def asks_to_wait(headers: Headers) -> bool:
    """Whether the upstream had named a time to wait: to some clients that alone is a reason to try again."""
    return any(name.lower() in _WAITS for name, _ in headers)


CallKind = Literal["agent", "judge", "worker"]
"""Who asks: the session under test, a judge of its answers, or work that the agent does in the background."""
KINDS: tuple[CallKind, ...] = get_args(CallKind)
Way = Literal["cassette", "live", "forbidden"]
"""What a kind of call does: goes by the cassette, always over the network, or not at all."""


BATCHED = 0.5
"""What a call through a batch API costs, as a share of its list price: OpenAI and Anthropic bill half."""


class Tokens(NamedTuple):
    """Tokens by kind, each counted once. None is unknown, which is not zero."""

    input: int | None = None
    """Without what the cache served or took in."""
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


_LEFT_OUT = frozenset({"batched", "trouble", "retried", "estimated"})
"""What is not written of a call where it is false or empty."""


class Call(NamedTuple):
    """One upstream call."""

    kind: str
    source: str
    """`live` or `replayed`."""
    model: str | None = None
    provider: str | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    """What it costs at list price when it is live, whether it was or not, in US dollars; None if unknown."""
    seconds: float = 0.0
    batched: bool = False
    """Whether it went through a provider's batch API, and cost `BATCHED` of that."""
    trouble: str = ""
    """How a call ended badly, such as `http-500` or `cut-off`."""
    retried: bool = False
    """Whether it was made again, and then ended well."""
    estimated: bool = False
    """Whether the vendor did not state its tokens, so that these, and the cost, are counted from its text."""

    @property
    def listed(self) -> float | None:
        """What the call costs at list price when it is made directly."""
        return self.cost / BATCHED if self.batched and self.cost is not None else self.cost

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; what is unknown is left out."""
        named = zip(self._fields, self, strict=True)
        plain: dict[str, Any] = {
            name: value for name, value in named if value or (value is not None and name not in _LEFT_OUT)
        }
        if self.tokens is not None:
            counted = zip(Tokens._fields, self.tokens, strict=True)
            plain["tokens"] = {name: count for name, count in counted if count is not None}
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Call:
        """Return the call that `to_json` gave; raises KeyError, TypeError or ValueError."""
        tokens = plain.get("tokens")
        return cls(**typed(cls, plain), tokens=None if tokens is None else Tokens(**typed(Tokens, tokens)))


_ANSWERED = frozenset(
    {CUT, REFUSED, *(f"http-{status}" for status in range(400, 500) if status not in (408, 409, 425, 429))}
)
"""Ends of calls that are answers to what was asked: a wrong request is refused again, a limit of tokens is reached."""


def is_outage(end: str) -> bool:
    """Return whether a call that ended so says nothing of what it asked: a limit, an outage, a cut connection."""
    return bool(end) and end not in _ANSWERED


def error_replies(calls: Iterable[Call]) -> list[str]:
    """Return the outages in which calls of an agent ended; one that was asked again and then ended well is none."""
    ends = (call.trouble for call in calls if call.kind != "judge" and not call.retried)
    return [end for end in dict.fromkeys(ends) if is_outage(end)]
