"""Calls that are made once for a process, in whichever case comes first: vocabularies, lists of prices, tokens.

Such a call is recorded in the case that makes it, and beside that in a cassette which all cases share. It need not be
asked for again, and may be asked for more often; a case that has not recorded it takes it from the shared cassette, if
that has one answer to it and no other. What is answered never depends on more than the key of the request.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.hosts import place_of, without_query
from pytest_recall.replay.tape import Tape
from pytest_recall.replay.tokens import without_times

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


def is_shared(url: str, urls: Iterable[str] = ()) -> bool:
    """Return whether a call is made once for a process, by its host or by one of these patterns of URLs."""
    host, plain = place_of(url)[0].lower(), without_query(url).lower()
    return any(fnmatchcase(host, known) for known in HOSTS) or any(fnmatchcase(plain, one.lower()) for one in urls)


def unconditional(request: Request) -> Request:
    """Return a request that does not say what its client has kept: another machine has kept nothing."""
    headers = tuple((name, value) for name, value in request.headers if name.lower() not in _CONDITIONS)
    return request._replace(headers=headers)


class SharedCalls:
    """The shared cassette in use. `make` opens its tape, and `urls` are patterns beside the known hosts."""

    def __init__(self, urls: Iterable[str], make: Callable[[], Tape]) -> None:
        self._urls = tuple(urls)
        self._make = make

    def has(self, url: str) -> bool:
        """Whether calls to a URL are shared."""
        return is_shared(url, self._urls)

    def use(self) -> None:
        """Open the tape, so that recordings of it that came with a merge take their place at the end of the run."""
        self._make()

    @property
    def tape(self) -> Tape | None:
        """The tape on which such a call is recorded; none in a forked process, whose copy nobody writes down."""
        tape = self._make()
        return tape if tape.process == os.getpid() else None

    def keep(self, exchange: Exchange) -> None:
        """Record a call that a case has recorded."""
        if (tape := self.tape) is not None:
            tape.keep(exchange._replace(seq=tape.reserve()), record=True)

    def serve(self, request: Request) -> Exchange | None:
        """Return the answer to a request; None if there is none, or more than one."""
        answers = self._make().answers(request)
        return answers[-1] if answers and all(is_same_answer(one, answers[0]) for one in answers) else None


def is_same_answer(one: Exchange, other: Exchange) -> bool:
    """Return whether two calls were answered alike, whatever time or id their heads have, or the tokens in them."""
    return _answer(without_times(one)) == _answer(without_times(other))


def _answer(one: Exchange) -> tuple[object, ...]:
    response = one.response
    return (one.failure,) if response is None else (one.failure, response.status, b"".join(response.chunks))
