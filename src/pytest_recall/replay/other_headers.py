"""Compare the headers of two requests beyond those by which calls are matched.

A header such as `x-variant` of a gateway may change an answer, and no list names all that do. Where it is asked whether
a change affects a case, each header counts but those named here. The values of headers that are not stored are compared
by digests. What may be a secret has none.

A digest has no key: one that a cassette could name would be no secret, and many digests of one value under different
keys would tell more of it than the 24 bits that all cassettes together have now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable
from fnmatch import translate
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_recall.replay.exchange import CREDENTIALS, Exchange, Headers, Request, asking
from pytest_recall.replay.tokens import have_one_answer

if TYPE_CHECKING:
    from pytest_recall.replay.matching import Rules
    from pytest_recall.replay.redaction import Redactor

DIGEST_BYTES = 3

CREDENTIAL: Final = CREDENTIALS | {
    *("*auth", "*authorization", "*cookie", "*credential*", "*jwt", "*key", "*-pass", "*passcode", "*passwd"),
    *("*password*", "*-pin", "*secret*", "*signature*", "*token", "*-nonce", "*-timestamp", "dpop", "x-auth-*"),
}
"""Headers with a credential or a signature, by lower-case name; `*` is any text.

Nothing of their values is stored, not even a digest, so that they cannot be compared.
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


@cache
def _passed_over() -> re.Pattern[str]:
    return re.compile("|".join(translate(name) for name in sorted(CREDENTIAL | CLIENT | TRACING)))


@lru_cache(maxsize=1024)
def counts(name: str) -> bool:
    """Whether the header with a lower-case name may change an answer, for all that is known of it."""
    return not _passed_over().match(name)


def digest_of(value: str) -> str:
    """Return a digest of the value of a header, 6 hex digits."""
    text = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=DIGEST_BYTES, person=b"recall header").hexdigest()


def other_headers(headers: Headers, stored: Collection[str], rules: Rules, redactor: Redactor) -> Headers:
    """Return each header that counts and is not among the `stored` lower-case names, with a digest of its value.

    The digest is empty where the value may be a secret, or is ignored. A name that holds a secret is left out.
    """
    names = {lower for name, _ in headers if counts(lower := name.lower()) and lower not in stored}
    return tuple(
        (name, digest_of(value) if _may_be_told(name, value, rules, redactor) else "")
        for name, value in asking(headers, names).items()
        if redactor.text(name) == name
    )


def _may_be_told(name: str, value: str, rules: Rules, redactor: Redactor) -> bool:
    """Whether a digest of this value may be written down. The name beside it shows what some values are."""
    # Only what is written down, or differs from that, is searched by so much.
    from pytest_recall.replay.secrets import suspicious

    text = f"{name}: {value}"
    return name not in rules.ignored and redactor.text(text) == text == redactor.url(text) and not suspicious(text)


def header_differences(recorded: Request, request: Request, rules: Rules, redactor: Redactor) -> list[str]:
    """Return a line for each header in which a request differs from a recorded one that has `others`.

    What is stored of the recorded one by value is compared as well. A header of which a value is not known, as it may
    be a secret, differs from none.
    """
    then = _recorded_digests(recorded, rules)
    now = {one.name: one for one in _valued(request.headers, rules)}
    lines = []
    for name in sorted(then.keys() | now.keys()):
        before, after = then.get(name), now.get(name)
        if before == "" or (after is not None and before == after.digest):
            continue
        if after is not None and not _may_be_told(name, after.value, rules, redactor):
            continue
        what = "another value than recorded" if before and after else "recorded → not asked"
        lines.append(f"header {name}: {'not recorded → asked' if before is None else what}")
    return lines


def deciding_headers(recorded: Collection[Request], rules: Rules) -> tuple[str, ...]:
    """Return the headers in which recorded requests with one key differ, sorted.

    A header of which a value is not known, as it may be a secret, is none of them. Nothing is known where one of the
    recordings does not say which headers there were.
    """
    if any(one.others is None for one in recorded):
        return ()
    known = [_recorded_digests(one, rules) for one in recorded]
    values = {name: {one.get(name) for one in known} for name in sorted({name for one in known for name in one})}
    return tuple(name for name, some in values.items() if len(some) > 1 and "" not in some)


def headers_to_match(calls: Iterable[Exchange], rules: Rules) -> tuple[str, ...]:
    """Return the headers in which recorded calls differ that have one key and several answers, sorted."""
    by_key: dict[str, list[Exchange]] = {}
    for call in calls:
        by_key.setdefault(call.key, []).append(call)
    several = (some for some in by_key.values() if len(some) > 1 and not have_one_answer(some))
    return tuple(sorted({name for some in several for name in deciding_headers([x.request for x in some], rules)}))


def recorded_values(recorded: Request, names: Iterable[str], rules: Rules) -> tuple[str | None, ...]:
    """Return the digest of each of these headers of a recorded request; None for one that it did not have."""
    digests = _recorded_digests(recorded, rules)
    return tuple(digests.get(name) for name in names)


def asked_values(request: Request, names: Iterable[str], rules: Rules) -> tuple[str | None, ...]:
    """Return the digest of each of these headers of a request that is made; None for one that it does not have."""
    digests = {one.name: one.digest for one in _valued(request.headers, rules)}
    return tuple(digests.get(name) for name in names)


def _recorded_digests(recorded: Request, rules: Rules) -> dict[str, str]:
    digests = {one.name: one.digest for one in _valued(recorded.headers, rules)}
    return digests | {name: digest for name, digest in recorded.others or () if _is_compared(name, rules)}


class _Valued(NamedTuple):
    """A header with the digest of its value."""

    name: str
    value: str
    digest: str


def _is_compared(name: str, rules: Rules) -> bool:
    return counts(name) and name not in rules.ignored


def _valued(headers: Headers, rules: Rules) -> tuple[_Valued, ...]:
    return _digested(tuple([header for header in headers if _is_compared(header[0].lower(), rules)]))


# A client sends the same headers with every call.
@lru_cache(maxsize=256)
def _digested(headers: Headers) -> tuple[_Valued, ...]:
    values = asking(headers, {name.lower() for name, _ in headers})
    if "content-type" in values:  # Its parameters are the boundary of a form, and what SDKs write in other ways.
        values["content-type"] = values["content-type"].partition(";")[0].strip().lower()
    return tuple(_Valued(name, value, digest_of(value)) for name, value in values.items())
