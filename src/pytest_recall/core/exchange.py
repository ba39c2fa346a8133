"""Exchange: one request to an upstream and what came back, as it is recorded and replayed."""

from __future__ import annotations

from typing import NamedTuple

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
    closed the stream before its end, so that nobody knows what would have followed.
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


class Exchange(NamedTuple):
    """One call: its key, its place in the order of the calls, and both of its sides.

    `kind` says who asked (`agent`, `judge`, `worker`); `at` is ISO 8601 in UTC; `seconds`
    lie between the request and the end of the response. With a `failure`, `response` holds
    what had come before it, or is None.
    """

    key: str
    seq: int
    kind: str
    request: Request
    response: Response | None
    failure: Failure | None = None
    at: str = ""
    seconds: float = 0.0
