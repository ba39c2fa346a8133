"""Record and serve calls that a package makes once for a process or a disk cache, in one cassette for all cases.

In which case such a call is made depends on which case is first, and whether it is made at all on what the machine has
kept: the vocabulary of a tokenizer, a list of prices, a discovery document, a token.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase

from pytest_recall.replay.answers import unreachable
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Exchange, Request
from pytest_recall.replay.places import without_query
from pytest_recall.replay.tape import Mode, Tape

_FETCHED = (
    "*://169.254.169.254/*",
    "*://cdn-lfs*.hf*.co/*",
    "*://huggingface.co/*/resolve/*",
    "*://huggingface.co/api/models/*",
    "*://metadata.google.internal/*",
    "*://models.dev/api.json",
    "*://openaipublic.blob.core.windows.net/*",
    "*://openrouter.ai/api/v1/models*",
    "*://raw.githubusercontent.com/*",
    "*://www.googleapis.com/discovery/*",
    "*.tiktoken",
    "*/$discovery/rest",
    "*/.well-known/*",
    "*/api/tags",
    "*/v1/models",
    "*/v1beta/models",
)
"""What is fetched: vocabularies, models of a hub, prices, versions, discovery documents and lists of models."""
_TOKENS = (
    "*/oauth/token",
    "*/oauth2/token",
    "*/oauth2/v*/token",
    "*://169.254.169.254/latest/api/token",
    "*://oauth2.googleapis.com/token",
    "*://sts.*.amazonaws.com/",
    "*://sts.googleapis.com/v1/token",
)
"""Where tokens are given out, to requests that hold a signature of that moment."""
_CONDITIONS = ("if-modified-since", "if-none-match")
UNRECORDED = "nothing is sent in a replay, and the cassette that all cases share does not have it"


def is_shared(method: str, url: str, urls: Iterable[str] = ()) -> bool:
    """Return whether a call is one that is made once for a process. `urls` are patterns of more that are fetched."""
    plain = without_query(url).lower()
    patterns = (*_FETCHED, *(pattern.lower() for pattern in urls)) if method.upper() in ("GET", "HEAD") else _TOKENS
    return any(fnmatchcase(plain, pattern) for pattern in patterns)


def best(before: Iterable[Exchange], news: Iterable[Exchange]) -> list[Exchange]:
    """Return one call for each key, in the order of their addresses: the newest, unless only an older one was answered.

    An answer that says that nothing has changed since is none to a client that has nothing.
    """
    found: dict[str, Exchange] = {}
    for one in (*before, *news):
        if _is_whole(one) or (one.key not in found and (one.response is None or one.response.status != 304)):
            found[one.key] = one
    ordered = sorted(found.values(), key=lambda one: (one.request.url, one.request.method, one.key))
    return [one._replace(seq=seq) for seq, one in enumerate(ordered)]


def _is_whole(one: Exchange) -> bool:
    response = one.response
    return one.failure is None and response is not None and response.complete and response.status < 300


class SharedCalls:
    """Decides on such calls. `make` opens the tape that they share, and `urls` are patterns beside the known ones."""

    def __init__(self, mode: Mode, urls: Iterable[str], make: Callable[[], Tape]) -> None:
        self._mode = mode
        self._urls = tuple(urls)
        self._make = make

    def step(self, request: Request, counts: Counter[tuple[str, str]]) -> CallStep | None:
        """Return what is done with a call if it is such a one, else None; `counts` takes those that are not recorded.

        It is found whatever its body and its conditions are, in any order and any number of times.
        """
        if not is_shared(request.method, request.url, self._urls):
            return None
        headers = tuple((name, value) for name, value in request.headers if name.lower() not in _CONDITIONS)
        asked = request._replace(headers=headers, body=b"")
        tape = self._make()
        if tape.process != os.getpid() and self._mode != "replay":
            return CallStep()
        served = None if self._mode == "record" else tape.serve_again(asked)
        if served is not None:
            return CallStep(served=served)
        if self._mode != "replay":
            return CallStep(recorder=CallRecorder(tape, asked, "agent", record=True))
        counts["shared", f"{request.method} {without_query(request.url)}"] += 1
        return CallStep(served=unreachable(request, UNRECORDED))
