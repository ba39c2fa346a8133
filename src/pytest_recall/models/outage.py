"""Tell failures of a provider from failures of a case, and decide when to stop asking.

No client is imported here. What is read of an exception are the attributes by which the clients of OpenAI,
Anthropic, Google, Mistral, Cohere, httpx, requests, aiohttp, urllib and botocore tell an HTTP status, and the names
of the classes by which they tell that a server was not reached, or that a client has no key to ask with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_recall.files.coerce import typed
from pytest_recall.files.errors import CaseError, single_errors
from pytest_recall.files.wording import one_line
from pytest_recall.models.rate import SPENT

OutageKind = Literal["unreachable", "silent", "refused", "spent", "limited", "failing", "absent", "unset"]

_SAID: Mapping[OutageKind, str] = {
    "unreachable": "{where} cannot be reached ({why})",
    "silent": "{where} does not answer in time ({why})",
    "refused": "{where} refuses the key ({why})",
    "spent": "{where} says that the quota is used up ({why})",
    "limited": "{where} says that it is asked too often ({why})",
    "failing": "{where} fails ({why})",
    "absent": "{where} has no such model or address ({why})",
    "unset": "the client is not set up ({why})",
}
_SILENT = frozenset(
    {"APITimeoutError", "TimeoutException", "Timeout", "ReadTimeoutError", "ConnectTimeoutError", "ServerTimeoutError"}
)
_UNREACHABLE = frozenset(
    {
        "APIConnectionError",
        "ConnectionError",
        "NetworkError",
        "ProtocolError",
        "ClientConnectionError",
        "EndpointConnectionError",
        "ConnectionClosedError",
        "MaxRetryError",
        "gaierror",
    }
)
# Raised before anything is sent: by openai, anthropic, botocore and google-auth.
_UNSET = frozenset({"CredentialsError", "NoCredentialsError", "DefaultCredentialsError"})
# openai raises its base class itself for nothing else; other SDKs do so for other things as well.
_UNSET_ITSELF = frozenset({"OpenAIError"})
_KEY = re.compile(r"UnrecognizedClient|InvalidSignature|ExpiredToken|AccessDenied|AuthFailure")
_QUERY = re.compile(r"(?<=\w)\?[^\s'\"]*=[^\s'\"]*")
_MONEY = re.compile(r"quota|credit balance|billing|insufficient (?:funds|balance|credit)", re.IGNORECASE)


class Outage(NamedTuple):
    """Why no answer came."""

    kind: OutageKind
    host: str
    """The host, with its port if it has one; empty where it is not known."""
    message: str
    """What the provider or its client says."""

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Outage | None:
        """Return the outage whose fields `plain` has; None for one of a kind that a later version knows.

        Raises KeyError or TypeError for anything else.
        """
        return cls(plain["kind"], **typed(cls, plain)) if plain["kind"] in _SAID else None

    def clean(self, text: Callable[[str], str]) -> Outage:
        """Return the outage with its texts put through `text`; a host may hold a secret as well."""
        return self._replace(host=text(self.host), message=text(self.message))

    @property
    def key(self) -> str:
        """What two failures have in common that are the same one."""
        return f"{self.kind} {self.host}"


def outage_text(outage: Outage) -> str:
    """Return in words why no answer came."""
    return _SAID[outage.kind].format(where=outage.host or "the provider", why=outage.message)


def outage_of(error: BaseException) -> Outage | None:
    """Return the outage that an exception, or one that it was raised from, tells of; None if it tells of none.

    A group, such as that of a TaskGroup, tells of one if each exception in it does. What an agent raises by itself is
    none, and neither is a status like 400, which may be due to the question.
    """
    chain = list(chain_of(error))
    host = next((host for one in chain if (host := _host(one))), "")
    for one in chain:
        status = _status(one)
        kind = None if status is None else _kind_of(status, one)
        if kind is not None:
            return Outage(kind, host, f"{status}: {_message(one)}" if _message(one) else str(status))
    for one in chain:
        names = {kind.__name__ for kind in type(one).__mro__}
        if _is_own(one):
            continue
        silent = not names.isdisjoint(_SILENT) or isinstance(one, TimeoutError)
        if silent or not names.isdisjoint(_UNREACHABLE):
            told = (one_line(_QUERY.sub("", str(last)), 120) for last in reversed(chain))
            deepest = next(filter(None, told), type(one).__name__)
            return Outage("silent" if silent else "unreachable", host, deepest)
    for one in chain:
        if type(one).__name__ in _UNSET_ITSELF or not _UNSET.isdisjoint(kind.__name__ for kind in type(one).__mro__):
            return Outage("unset", host, one_line(str(one), 300) or type(one).__name__)
    # After the others: what a client raises may come from a group of its attempts, and knows the host.
    group = next((one for one in chain if isinstance(one, BaseExceptionGroup)), None)
    found = [] if group is None else [outage_of(one) for one in single_errors(group)]
    return found[0] if found and all(found) else None


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and what it came from, each once."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        hidden = error.__suppress_context__ and not isinstance(error, CaseError)
        error = error.__cause__ or (None if hidden else error.__context__)


def _is_own(error: BaseException) -> bool:
    """Whether an exception of Python's own kinds was raised by hand: the system's have a number."""
    return type(error).__module__ == "builtins" and getattr(error, "errno", None) is None


def _kind_of(status: int, error: BaseException) -> OutageKind | None:
    message = f"{_read(error, 'code')} {_message(error)}"
    if any(code in message for code in SPENT) or status == 402:
        return "spent"
    if status in (400, 429) and _MONEY.search(message):
        return "spent"
    if status in (401, 403) or (status == 400 and _KEY.search(message)):
        return "refused"
    if status == 404:
        return "absent"
    if status == 429:
        return "limited"
    if status == 408:
        return "silent"
    return "failing" if status >= 500 else None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of a response that an exception is about."""
    response = _read(error, "response")
    given = [_read(error, "status_code"), _read(error, "status"), _read(error, "code"), _read(response, "status_code")]
    if isinstance(response, Mapping):  # botocore
        given.append(_field(_field(response, "ResponseMetadata"), "HTTPStatusCode"))
    return next((one for one in given if isinstance(one, int) and 400 <= one < 600), None)


def _message(error: BaseException) -> str:
    """Return what the provider says, without the rest of its body."""
    body = _read(error, "body")
    inner = _field(body, "error")
    response = _read(error, "response")
    told = _field(response, "Error") if isinstance(response, Mapping) else None
    parts = (_field(inner, "message"), _field(body, "message"), inner, _field(told, "Message"))
    said = next((part for part in parts if isinstance(part, str) and part), "") or str(error)
    code = _field(told, "Code")
    # A query may hold a key.
    return one_line(_QUERY.sub("", f"{code}: {said}" if isinstance(code, str) else said), 160)


def _host(error: BaseException) -> str:
    """Return the host, with its port if it has one, that an exception is about; empty if it does not say."""
    request, response = _read(error, "request"), _read(error, "response")
    places = (_read(request, "url"), _read(response, "url"), _read(_read(error, "request_info"), "url"))
    for place in (*places, _read(error, "url"), _field(_read(error, "kwargs"), "endpoint_url")):
        found = urlsplit(str(place)).netloc if place is not None else ""
        if found:
            return found.rpartition("@")[2]
    host, port = _read(error, "host"), _read(error, "port")  # aiohttp
    return f"{host}:{port}" if isinstance(host, str) and isinstance(port, int) else ""


def _read(value: Any, name: str) -> Any:
    """Return an attribute; None where there is none, or where it raises."""
    try:
        return getattr(value, name, None)
    except Exception:  # httpx raises for a request that was never set, and it is not alone.
        return None


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


@dataclass
class Streak:
    """How many trials in a row have ended with the same outage."""

    limit: int | None
    """So many are enough; without one, never."""
    key: str = ""
    count: int = 0

    def add(self, key: str) -> bool:
        """Take in how the next trial ended, an outage by its key or empty, and return whether it was one too many."""
        self.count = self.count + 1 if key and key == self.key else int(bool(key))
        self.key = key
        return self.limit is not None and self.count >= self.limit
