"""Which headers are kept in a cassette, and which are changed so that no client waits in a replay.

A request is matched by the headers that ask for something: what is to be done, of which version, in which form or
part. All others tell of the client, the account or the connection, and change with every run.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final, NamedTuple

from pytest_recall.replay.exchange import Headers

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
    dropped: frozenset[str] = frozenset()

    def is_stored(self, name: str) -> bool:
        """Whether the response header with a lower-case name is stored."""
        return (name in self.response or name.startswith(_RATES)) and name not in self.dropped


def scrubbed(name: str, value: str) -> str:
    """Return the value of a response header without what lets in who has it; a placeholder stands there.

    A client sends it back in a header that is not matched, so that a replay goes on with the placeholder.
    """
    if name == "set-cookie":
        return _COOKIE.sub(r"\1=[COOKIE]", value, count=1)
    return "[MCP_SESSION_ID]" if name == _SESSION else value


def asking(headers: Headers, names: Collection[str]) -> dict[str, str]:
    """Return the headers of a request by which it is matched, in one way to write them, by lower-case names."""
    found: dict[str, list[str]] = {}
    for name, value in headers:
        lower = name.lower()
        if lower in names:
            found.setdefault(lower, []).append(value)
    asked = {name: _normal(name, ",".join(values)) for name, values in found.items()}
    return {name: asked[name] for name in sorted(asked) if asked[name]}


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
