"""Send requests to the REST API of a code host, within its rate limits."""

from __future__ import annotations

import json
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_recall.files import clock
from pytest_recall.files.errors import RecallError
from pytest_recall.files.wording import one_line
from pytest_recall.models.rate import Retry, asked_for, wait

if TYPE_CHECKING:
    import httpx


LEAST = 60.0
"""Seconds that GitHub asks for where a secondary limit names no time
(docs.github.com, "Rate limits for the REST API")."""
_LIMITED = ("rate limit", "abuse detection", "retry later")


def pause(status: int, headers: Mapping[str, str], message: str, now: float) -> float | None:
    """Return the seconds that a reply asks to wait before the next request, or None if it is about no limit.

    `now` is in seconds since 1970. GitHub answers 429 or 403, with `retry-after`, or with
    `x-ratelimit-remaining: 0` and the time of the reset, or with neither at secondary limits; GitLab 429.
    """
    if status not in (403, 429):
        return None
    told = {name.lower(): value for name, value in headers.items()}
    asked = asked_for(told, now)
    if asked is not None:
        return asked
    for prefix in ("x-ratelimit", "ratelimit"):
        if told.get(f"{prefix}-remaining", "").strip() == "0" and "not accessible" not in message:
            return _until(told.get(f"{prefix}-reset", ""), now)
    limited = status == 429 or any(word in message.lower() for word in _LIMITED)
    return LEAST if limited else None


def _until(reset: str, now: float) -> float:
    try:
        at = float(reset)
    except ValueError:
        return LEAST
    return max(0.0, at - now) if isfinite(at) else LEAST


TIMEOUT = 30.0
"""Seconds in which something has to arrive."""
PAGES = 300
"""Pages of a list, of a hundred each, that are read at the most."""


class RefusedError(RecallError):
    """A request that the host answered, and not with success; `status` is of HTTP."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class ReadOnlyError(RefusedError):
    """The token may read and not write, as that of a pull request from a fork."""


class UnavailableError(RecallError):
    """The host wants to be left alone for longer than one waits, or is not there."""


class Clock(NamedTuple):
    """How one waits: seconds from anywhere, seconds since 1970, the wait itself, and numbers in 0..1."""

    now: Callable[[], float] = clock.monotonic
    wall: Callable[[], float] = clock.wall
    sleep: Callable[[float], object] = time.sleep
    roll: Callable[[], float] = random.random


class RestReply(NamedTuple):
    """What came back: JSON, and the address of the next page if there is one."""

    data: Any
    next: str | None


class RestClient:
    """A client for the JSON API at `url`, which is in the variable `named`. Its `secret` is in no message.

    `patience` bounds, in seconds, the waits for one request together. Raises RecallError where httpx is not installed.
    """

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        secret: str,
        named: str,
        *,
        patience: float = 120.0,
        clock: Clock | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise RecallError("httpx is missing; run `pip install 'pytest-recall[ci]'`") from None
        self._url = url.rstrip("/")
        self._secret = secret
        self.named = named
        self._reached = False
        self._patience = patience
        self._clock = clock or Clock()
        self._retry = Retry(attempts=6, total=patience, base=1.0, cap=20.0, longest=patience)
        self._http = httpx.Client(headers=headers, timeout=TIMEOUT)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def pages(self, path: str) -> Iterator[Any]:
        """Yield the objects of a list, page by page, by the `Link` header (RFC 8288). Raises RecallError."""
        address: str | None = self._url + path
        for _ in range(PAGES):
            reply = self._send("GET", address or "", None)
            if not isinstance(reply.data, list) or not all(isinstance(one, dict) for one in reply.data):
                place = _place("GET", address or "", self._url)
                raise RecallError(f"{place}: the reply is no list of objects; correct {self.named}")
            yield from reply.data
            if reply.next is None:
                return
            address = reply.next
            # The token goes where it belongs, whatever a reply says.
            if not address.startswith(f"{self._url}/"):
                raise RecallError(f"{path}: the next page is at another host; correct {self.named}")
        raise RecallError(f"{path}: more than {PAGES} pages; look through them by hand")

    @contextmanager
    def documented(self, place: str) -> Iterator[None]:
        """Raise RecallError, which says so of `place`, where a reply lacks what the API documents of it."""
        try:
            yield
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = self._clean(f"{type(error).__name__}: {error}")
            raise RecallError(
                f"{place}: the reply is not as the API documents it ({why}); correct {self.named}"
            ) from None

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Return the JSON of a reply, None if it is empty.

        Raises ReadOnlyError if the token may not write, RefusedError for any other answer that is not a success,
        UnavailableError if the host is not reached or its limit is not waited for. What may pass is tried again.
        """
        return self._send(method, self._url + path, body).data

    def account(self, key: str) -> str:
        """Return whose the token is, which `GET /user` says as `key`. Raises as `send` does.

        It is asked first, so that what is no API of this kind is seen here.
        """
        user = self.send("GET", "/user")
        if not isinstance(user, dict) or key not in user:
            raise RecallError(f"GET /user: the reply has no `{key}`; correct {self.named}")
        return str(user[key])

    def _send(self, method: str, address: str, body: Mapping[str, Any] | None) -> RestReply:
        began, failures = self._clock.now(), 0
        while True:
            failures += 1
            reply, why, asked = self._once(method, address, body)
            if reply is not None:
                return reply
            spent = self._clock.now() - began
            seconds = wait(self._retry, failures, spent, asked, self._clock.roll())
            if seconds is None:
                waits = "" if asked is None else f", and asks for {asked:.0f} s more"
                place = _place(method, address, self._url)
                raise UnavailableError(
                    f"{place}: {why}{waits}, after {failures} tries in {spent:.0f} s; start it again later"
                )
            self._clock.sleep(seconds)

    def _once(
        self, method: str, address: str, body: Mapping[str, Any] | None
    ) -> tuple[RestReply | None, str, float | None]:
        """Return a reply; or why there is none yet, and the seconds that were asked for."""
        import httpx

        try:
            got = self._http.request(method, address, json=body)
        except httpx.TimeoutException:
            return None, f"no reply within {TIMEOUT:.0f} s", None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = self._clean(str(error)) or type(error).__name__
            # A host that has answered before is the right one, and may only be restarting.
            if not self._reached and _stays(error):
                raise UnavailableError(
                    f"{_place(method, address, self._url)}: {why}; correct {self.named}, or start it again when a"
                    " server is there"
                ) from None
            return None, why, None
        self._reached = True
        if got.is_success:
            return self._reply(got), "", None
        said = self._clean(_message(got))
        asked = pause(got.status_code, got.headers, said, self._clock.wall())
        if asked is not None:
            return None, f"the host limits requests ({got.status_code})", asked
        if got.status_code >= 500:
            return None, f"status {got.status_code}", None
        raise _refused(_place(method, address, self._url), got.status_code, said, self.named)

    def _clean(self, text: str) -> str:
        return one_line(text.replace(self._secret, "***") if self._secret else text, 160)

    def _reply(self, got: httpx.Response) -> RestReply:
        try:
            data = got.json() if got.content else None
        except ValueError:
            raise RecallError(f"the API replied with something else than JSON; correct {self.named}") from None
        return RestReply(data, got.links.get("next", {}).get("url"))


def _place(method: str, address: str, url: str) -> str:
    """Return what a request was for, as messages name it: without the host, and what is asked of a list."""
    return f"{method} {address.removeprefix(url).partition('?')[0]}"


def _stays(error: BaseException) -> bool:
    """Whether a request fails by its address, or by a host that has no server: so it does a minute later."""
    import httpx

    if isinstance(error, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return True
    cause: BaseException | None = error
    while cause is not None:
        # A name server that does not answer says EAI_AGAIN, and is asked again.
        if isinstance(cause, socket.gaierror):
            return cause.errno == socket.EAI_NONAME
        if isinstance(cause, ConnectionRefusedError | ssl.SSLCertVerificationError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _message(got: httpx.Response) -> str:
    """Return what the host says of it: GitHub in `message` and `errors`, GitLab in `message` or `error`."""
    try:
        told = got.json()
    except ValueError:
        return got.text
    if not isinstance(told, dict):
        return str(told)
    said = told.get("message") or told.get("error") or ""
    more = [str(one.get("message") or one) if isinstance(one, dict) else str(one) for one in told.get("errors") or ()]
    return ": ".join([said if isinstance(said, str) else json.dumps(said), *more])


def _refused(place: str, status: int, said: str, named: str) -> RefusedError:
    shown = f"{place}: status {status}" + (f" {said!r}" if said else "")
    if status == 401:
        return RefusedError(f"{shown}; the token was rejected; create a new one", status)
    if status == 403 and "not accessible by integration" in said:
        return ReadOnlyError(f"{shown}; give the job the permission to write", status)
    if status == 403:
        return RefusedError(f"{shown}; give the token the permission to write", status)
    if status == 404:
        return RefusedError(f"{shown}; it is not there, the token does not see it, or {named} is wrong", status)
    if status == 410:
        return RefusedError(f"{shown}; switch issues on in the repository's settings", status)
    return RefusedError(f"{shown}; correct what is sent", status)
