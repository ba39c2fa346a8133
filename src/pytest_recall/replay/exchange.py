"""One request to an upstream server and its response, as they are recorded and replayed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pytest_recall.replay.telemetry import is_telemetry

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
    """What was asked of an upstream. `url` is absolute; `body` is what went over the wire."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""


class Response(NamedTuple):
    """What the upstream sent.

    `chunks` are the body's pieces as they arrived, still in their content encoding;
    `offsets` the seconds from the request to each. `complete` is False if the client
    closed the stream before its end, so that it is unknown what would have followed.
    """

    status: int
    reason: str = ""
    headers: Headers = ()
    chunks: tuple[bytes, ...] = ()
    offsets: tuple[float, ...] = ()
    http_version: str = "HTTP/1.1"
    complete: bool = True

    @property
    def body(self) -> bytes:
        """All chunks in one."""
        return b"".join(self.chunks)

    def header(self, name: str) -> str | None:
        """Return the first value of the header `name`, whatever its case."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Failure(NamedTuple):
    """How an exchange ended that the network cut short.

    `kind` is the name of the exception that the HTTP client raised, such as
    `ReadTimeout` or `ConnectError`; `message` is its text.
    """

    kind: str
    message: str

    @property
    def is_unsent(self) -> bool:
        """Whether no connection came about, so that nothing was sent and nothing is billed."""
        return self.kind in _NO_CONNECTION


class Exchange(NamedTuple):
    """One call: its key, its place in the order of the calls, and both of its sides.

    `kind` says who asked (`agent`, `judge`, `worker`); `at` is ISO 8601 in UTC; `seconds`
    lie between the request and the end of the response. With a `failure`, `response` holds
    what had come before it, or is None. `phase` is `teardown` for a call that the end of a
    fixture made, after the test; else it is empty. `background` is a call of a thread that was there before the test.
    `batched` says that it went through a batch API; a cassette does not tell.
    """

    key: str
    seq: int
    kind: str
    request: Request
    response: Response | None
    failure: Failure | None = None
    at: str = ""
    seconds: float = 0.0
    phase: str = ""
    batched: bool = False
    background: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the upstream refused it, or was never sent it, so that it is not billed."""
        if self.response is not None:
            return self.response.status >= 400
        return self.failure is not None and self.failure.is_unsent

    @property
    def may_be_left(self) -> bool:
        """Whether it need not be asked again: it belongs to no case, or was given up before anything had come of it.

        The latter is the loser of a race, which in another run is cancelled before it asks.
        """
        if self.background or is_telemetry(self.request.method, self.request.url):
            return True
        if self.failure is not None:
            return self.failure.kind == CANCELLED
        return self.response is not None and not self.response.complete and not any(self.response.chunks)


CUT, REFUSED = "cut-off", "refused"
"""An answer that ended at the limit of tokens, and one that the provider or the model withheld."""
