"""Say which headers count beyond those by which calls are matched, and digest their values.

A header such as `x-variant` of a gateway may change an answer, and no list names all that do. Each header counts but
those named here. The values of headers that are not stored are compared by digests. What may be a secret has none,
but a credential that is a token which a recorded answer hands out has that of the names of its placeholders
(`replay.tokens`), which are made of what was asked for. What they decide is said in `replay.equality`.

A digest has no key: one that a cassette could name would be no secret, and many digests of one value under different
keys would tell more of it than the 24 bits that all cassettes together have now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_recall.replay.exchange import CREDENTIALS, Headers, asking
from pytest_recall.replay.tokens import names_in

if TYPE_CHECKING:
    from pytest_recall.replay.matching import Rules
    from pytest_recall.replay.redaction import Redactor

DIGEST_BYTES = 3

CREDENTIAL: Final = CREDENTIALS | {
    *("*auth", "*authorization", "*cookie", "*credential*", "*jwt", "*key", "*-pass", "*passcode", "*passwd"),
    *("*password*", "*-pin", "*secret*", "*signature*", "*token", "*-nonce", "*-timestamp", "dpop", "x-auth-*"),
}
"""Headers with a credential or a signature, by lower-case name; `*` is any text.

Nothing of their values is stored, not even a digest, so that they cannot be compared, but for tokens that a recorded
answer hands out.
"""
CLIENT: Final = frozenset(
    {
        *("*-user-agent", "*-useragent", "accept-encoding", "amz-sdk-*", "connection", "content-digest"),
        *("content-encoding", "content-length", "content-md5", "date", "digest", "early-data", "expect", "forwarded"),
        *("grpc-accept-encoding", "grpc-timeout", "host", "http2-settings", "keep-alive", "lang_version"),
        *("last-event-id",),
        *("max-forwards", "mcp-protocol-version", "package_version", "proxy-connection"),
        *("repr-digest", "sdk_runtime", "sdkversion", "sec-ch-*", "sec-fetch-*", "sec-websocket-*"),
        *("te", "trailer", "transfer-encoding", "upgrade", "user-agent", "via", "x-amz-checksum-*"),
        *("x-amz-content-sha256", "x-amz-date", "x-amz-decoded-content-length", "x-amz-sdk-*", "x-amz-trailer"),
        *("x-amzn-query-mode", "x-client-cpu", "x-client-current-telemetry", "x-client-info"),
        *("x-client-last-telemetry", "x-client-os", "x-client-sku", "x-client-ver", "x-elastic-client-meta"),
        *("x-fern-*", "x-forwarded-*", "x-goog-api-client", "x-goog-hash", "x-ms-client-version", "x-ms-date"),
        *("x-ms-lib-capability", "x-real-ip", "x-stainless-*", "x-stripe-client-telemetry"),
        *("x-twilio-client", "x-weaviate-client"),
    }
)
"""Headers of the client, its machine and the connection, and checksums of the body.

Clients set `expect` and `te` by themselves: curl the first for a body of more than 1 MB, where the answer is the same.
"""
TRACING: Final = frozenset(
    {
        *("*-span-id", "*conversation-id", "*correlation-id", "*idempotency-key", "*invocation-id", "*request-id"),
        *("*run-id", "*session-id", "*trace-id", "b3", "baggage", "conversation_id", "elastic-apm-traceparent"),
        *("grpc-tags-bin", "grpc-trace-bin", "idempotency-*", "langsmith-trace", "newrelic", "ot-tracer-*"),
        *("sentry-trace", "session_id", "traceparent", "tracestate", "uber-trace-id", "uberctx-*", "x-b3-*"),
        *("x-cloud-trace-context", "x-datadog-*", "x-honeycomb-trace", "x-newrelic-*", "x-opaque-id"),
        *("x-ot-span-context",),
    }
)
"""Headers that name one run, session or request, for tracing or so that it is not done twice."""

_OF_ONE_CALL: Final = TRACING | {
    *("*cookie", "*signature*", "*-nonce", "*-timestamp", "dpop", "proxy-*", "x-amz-security-token"),
}
"""Of the credentials those that are another one in each call, or say nothing of who asks."""
_SCHEMES: Final = frozenset({"apikey", "api-key", "basic", "bearer", "key", "token"})
"""How a credential begins that is the same in each call; others sign the call."""


@cache
def _passed_over() -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in sorted(CREDENTIAL | CLIENT | TRACING)))


@cache
def _credential() -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in sorted(CREDENTIAL)))


def counts(name: str) -> bool:
    """Whether the header with a lower-case name may change an answer, for all that is known of it."""
    return not _passed_over().match(name)


@lru_cache(maxsize=1024)
def is_credential(name: str) -> bool:
    """Whether the header with a lower-case name carries a credential or a signature."""
    return _credential().match(name) is not None


@cache
def _of_one_call() -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in sorted(_OF_ONE_CALL)))


def lasting_credentials(headers: Headers) -> dict[str, str]:
    """Return the credentials of a request that are the same in each call of whoever has them, by lower-case name."""
    names = {lower for name, _ in headers if is_credential(lower := name.lower()) and not _of_one_call().match(lower)}
    return {name: value for name, value in asking(headers, names).items() if _lasts(value)}


def _lasts(value: str) -> bool:
    scheme, space, _ = value.strip().partition(" ")
    return not space or scheme.lower() in _SCHEMES


@lru_cache(maxsize=1024)
def _may_differ(name: str) -> bool:
    return counts(name) or is_credential(name)


def digest_of(value: str) -> str:
    """Return a digest of the value of a header, 6 hex digits."""
    text = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES, person=b"recall header").hexdigest()


def other_headers(headers: Headers, stored: Collection[str], rules: Rules, redactor: Redactor) -> Headers:
    """Return each header that counts and is not among the `stored` lower-case names, with a digest of its value.

    The digest is empty where the value may be a secret, or is ignored. A name that holds a secret is left out, and a
    credential of which nothing is known.
    """
    names = {lower for name, _ in headers if _may_differ(lower := name.lower()) and lower not in stored}
    digests = (
        (name, _of_tokens(redactor.text(value)) if is_credential(name) else _of_value(name, value, rules, redactor))
        for name, value in asking(headers, names).items()
        if redactor.text(name) == name
    )
    return tuple((name, digest) for name, digest in digests if digest or not is_credential(name))


def _of_value(name: str, value: str, rules: Rules, redactor: Redactor) -> str:
    return digest_of(value) if may_be_told(name, value, rules, redactor) else ""


def _of_tokens(value: str) -> str:
    """Return a digest of the tokens in a credential, by their names; empty if it holds none that was handed out."""
    tokens = names_in(value)
    return digest_of(" ".join(tokens)) if tokens else ""


def may_be_told(name: str, value: str, rules: Rules, redactor: Redactor) -> bool:
    """Whether a digest of this value may be written down. The name beside it shows what some values are."""
    # Only what is written down, or differs from that, is searched by so much.
    from pytest_recall.replay.secrets import suspicious

    text = f"{name}: {value}"
    return name not in rules.ignored and redactor.text(text) == text == redactor.url(text) and not suspicious(text)


class CountedHeader(NamedTuple):
    """A header that counts, with the digest of its value, which is empty for a credential that nobody knows."""

    name: str
    value: str
    digest: str


def is_compared(name: str, rules: Rules) -> bool:
    """Whether the header with a lower-case name counts or is a credential, and no rubric ignores it."""
    return _may_differ(name) and name not in rules.ignored


def counted(headers: Headers, rules: Rules) -> tuple[CountedHeader, ...]:
    """Return the headers of a request that is made, or is stored, which count, and its credentials."""
    return _digested(tuple([header for header in headers if is_compared(header[0].lower(), rules)]))


# A client sends the same headers with every call.
@lru_cache(maxsize=256)
def _digested(headers: Headers) -> tuple[CountedHeader, ...]:
    values = asking(headers, {name.lower() for name, _ in headers})
    if "content-type" in values:  # Its parameters are the boundary of a form, and what SDKs write in other ways.
        values["content-type"] = values["content-type"].partition(";")[0].strip().lower()
    return tuple(
        CountedHeader(name, value, _of_tokens(value) if is_credential(name) else digest_of(value))
        for name, value in values.items()
    )
