"""Calls that a replay may make any number of times, or not at all: what a process fetches once, tokens, and polling.

Such a call is recorded in the case that makes it, and beside that in a cassette which all cases share. Its answers are
given in sequence, then the last one of that very key again; a case that has not recorded it takes it from the shared
cassette, if that has one answer to it and no other. What is answered never depends on more than the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.forks import lock
from pytest_recall.replay.hosts import place_of, without_query
from pytest_recall.replay.tape import Tape
from pytest_recall.replay.tokens import have_one_answer

HOSTS = (
    "169.254.169.254",
    "cdn-lfs*.hf.co",
    "cdn-lfs*.huggingface.co",
    "huggingface.co",
    "login.microsoftonline.com",
    "metadata.google.internal",
    "models.dev",
    "oauth2.googleapis.com",
    "openaipublic.blob.core.windows.net",
    "raw.githubusercontent.com",
    "sts.*.amazonaws.com",
    "sts.amazonaws.com",
    "sts.googleapis.com",
)
"""Hosts that hand out what a process keeps: vocabularies, models of a hub, prices, and tokens."""
_CONDITIONS = ("if-modified-since", "if-none-match")
_OF_MCP = frozenset({"mcp-protocol-version", "mcp-session-id"})


def is_repeatable(request: Request, patterns: Sequence[str] = ()) -> bool:
    """Return whether a call may be made any number of times, by its host, by these patterns or by its protocol.

    A pattern is that of a URL, with a method in front if it is for that one only.
    """
    if _is_known(place_of(request.url)[0].lower()) or is_of_mcp_session(request):
        return True
    method, plain = request.method.lower(), without_query(request.url).lower() if patterns else ""
    for pattern in patterns:
        only, _, url = pattern.lower().rpartition(" ")
        if only.strip() in ("", method) and fnmatchcase(plain, url):
            return True
    return False


@lru_cache(maxsize=256)
def _is_known(host: str) -> bool:
    return any(fnmatchcase(host, pattern) for pattern in HOSTS)


def is_of_mcp_session(request: Request) -> bool:
    """Return whether a request listens to a server of MCP, or ends a session: the transport has its times.

    A client opens the stream anew whenever it was closed, and need do neither.
    https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
    """
    method = request.method.upper()
    if method not in ("DELETE", "GET") or _OF_MCP.isdisjoint(name.lower() for name, _ in request.headers):
        return False
    if method == "DELETE":
        return True
    accepted = (value for name, value in request.headers if name.lower() == "accept")
    return any("text/event-stream" in value.lower() for value in accepted)


def unconditional(request: Request) -> Request:
    """Return a request that does not say what its client has kept: another machine has kept nothing."""
    headers = tuple((name, value) for name, value in request.headers if name.lower() not in _CONDITIONS)
    return request._replace(headers=headers)


class RepeatableCalls:
    """Which calls are repeatable, and their cassette. `make` opens its tape; `patterns` are those of the rubric.

    `outside` are those that are recorded here alone, as they were made while no case was open.
    """

    def __init__(self, patterns: Iterable[str], make: Callable[[], Tape]) -> None:
        self._patterns = tuple(patterns)
        self._make = make
        self._opened: Tape | None = None
        self.outside: list[Request] = []
        self._lock = lock()

    def has(self, request: Request) -> bool:
        """Whether a call may be made any number of times."""
        return is_repeatable(request, self._patterns)

    def use(self) -> Tape:
        """Open the tape, so that recordings of it that came with a merge take their place at the end of the run."""
        with self._lock:
            if self._opened is None:
                self._opened = self._make()
            return self._opened

    def keep(self, exchange: Exchange) -> None:
        """Record a call that a case has recorded."""
        tape = self.use()
        tape.keep(exchange._replace(seq=tape.reserve()), record=True)

    def serve(self, request: Request) -> Exchange | None:
        """Return the answer to a request; None if there is none, or more than one."""
        answers = self.use().answers(request)
        return answers[-1] if answers and have_one_answer(answers) else None

    def has_several(self, request: Request) -> bool:
        """Whether there are several answers to a request, of which `serve` gives none."""
        return not have_one_answer(self.use().answers(request))

    def hand_over(self, later: RepeatableCalls) -> None:
        """Let `later` keep what was called before the session had a place to record into, and calls that go on."""
        later.outside += self.outside
        if self._opened is not None:
            self._opened.repeatable = later
            for made in list(self._opened.made):
                later.keep(made.exchange())
