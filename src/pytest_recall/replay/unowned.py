"""Decide on calls that belong to no case: of plugins and imports, of telemetry, and of threads from before the case.

What a package fetches once for a process or a disk cache is in one cassette that all cases share. In which case such a
call is made depends on which case is first, and whether it is made at all on what the machine has kept: the vocabulary
of a tokenizer, a list of prices, a discovery document, a token.
"""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.exchange import Exchange, Failure, Request, Response
from pytest_recall.replay.hosts import is_telemetry, is_telemetry_host, place_of, without_query
from pytest_recall.replay.origin import in_exporter, in_own_thread, origin
from pytest_recall.replay.tape import CassetteMode, Tape
from pytest_recall.replay.wire_formats import asks_model

BACKGROUND = "nothing is sent in a replay, not by a thread that was there before the case either"
IMPORTED = "nothing is sent in a replay, not by a package as it is imported either"
_JSON = (("content-type", "application/json"),)


def accepted(request: Request) -> Exchange:
    """Return the answer of a service that takes what it was sent."""
    return _answered(request, Response(200, "OK", _JSON, (b"{}",)))


def refused(request: Request, message: str) -> Exchange:
    """Return the answer of a service that can make nothing of a request, which no client then sends again."""
    body = json.dumps({"error": {"message": message, "type": "not_sent", "code": "not_sent"}}).encode()
    return _answered(request, Response(400, "Bad Request", _JSON, (body,)))


def unreachable(request: Request, message: str) -> Exchange:
    """Return how a call ends where there is no network."""
    return Exchange("", 0, "", request, None, Failure("ConnectError", message))


def _answered(request: Request, response: Response) -> Exchange:
    return Exchange("", 0, "", request, response)


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


class SharedCalls:
    """Decides on such calls. `make` opens the tape that they share, and `urls` are patterns beside the known ones."""

    def __init__(self, mode: CassetteMode, urls: Iterable[str], make: Callable[[], Tape]) -> None:
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


Shared = tuple[Sequence[str], Callable[[], Tape]]


class UnownedCalls:
    """Tells the calls that belong to no case from those that do, and counts them.

    `counts` has them by what they are (`telemetry`, `background` or `shared`) and where they went. `telemetry` are
    hosts beside those that are known, `home` is the thread that runs the session, and `shared` the patterns of URLs
    that are fetched once, with what opens their tape.
    """

    def __init__(
        self,
        mode: CassetteMode,
        home: int,
        counts: Counter[tuple[str, str]],
        telemetry: Iterable[str],
        shared: Shared | None = None,
    ) -> None:
        self.counts = counts
        self._shared = None if shared is None else SharedCalls(mode, *shared)
        self.telemetry = tuple(host.lower() for host in telemetry)
        self._mode = mode
        self._home = home

    def step(self, request: Request, tape: Tape | None, *, in_case: bool) -> CallStep | None:
        """Return what is done with a call that no recording answers if it belongs to no case, or None if it does.

        Calls that are made once for a process are in a cassette of their own. A plugin of pytest is let alone. A
        package that is being imported fetches what the next process fetches as well, in whichever case imports it: it
        is not recorded, and in a replay it finds no network. Neither does a thread from before the case, unless it asks
        where the case asks as well, which may be on its behalf. Telemetry is never recorded, and in a replay it is
        taken and not sent.
        """
        if self._shared is not None and (step := self._shared.step(request, self.counts)) is not None:
            return step
        whose = origin()
        if whose == "plugin" or (whose != "session" and self._mode != "replay"):
            return CallStep()
        if whose != "session":
            return CallStep(served=unreachable(request, IMPORTED))
        if self.is_telemetry(request):
            self.counts["telemetry", place_of(request.url)[0]] += 1
            return CallStep(served=accepted(request)) if self._mode == "replay" else CallStep()
        if self._mode != "replay" or not self.is_background(request, tape, in_case=in_case):
            return None
        if tape is not None and tape.asks_there(request):
            return None
        self.counts["background", f"{request.method} {without_query(request.url)}"] += 1
        return CallStep(served=unreachable(request, BACKGROUND))

    def is_telemetry(self, request: Request) -> bool:
        """Whether a call sends telemetry."""
        return is_telemetry(request.method, request.url, self.telemetry) or in_exporter()

    def is_background(self, request: Request, tape: Tape | None, *, in_case: bool) -> bool:
        """Whether a call is made by a thread that was there before the case, and asks no model."""
        return not in_case and self._is_older(tape) and not asks_model(request)

    def takes(self, host: str, port: int | None, tape: Tape | None, *, in_case: bool) -> bool:
        """Whether a connection that would open in a replay, by a client that is not known, belongs to no case."""
        if self.is_telemetry_host(host, port):
            self.counts["telemetry", host] += 1
        elif not in_case and self._is_older(tape):
            self.counts["background", f"{host}:{port}"] += 1
        else:
            return False
        return True

    def hint(self, request: Request) -> str:
        """Return how a call may come to belong to no case, if it may, for the message of a miss."""
        if asks_model(request) or not self.in_own_thread():
            return ""
        thread = threading.current_thread().name
        return f"\n  if the thread `{thread}` sends telemetry, name its host under `telemetry_hosts` in rubric.yaml"

    def is_telemetry_host(self, host: str, port: int | None) -> bool:
        """Whether a connection here is one for telemetry."""
        return is_telemetry_host(host, port, self.telemetry) or in_exporter()

    def in_own_thread(self) -> bool:
        """Whether this is a thread that code has made for itself, and not the one that runs the session."""
        return threading.get_ident() != self._home and in_own_thread()

    def _is_older(self, tape: Tape | None) -> bool:
        """Whether this thread was there before the case that is open, or goes on where none is.

        A pool may have been there as well, but what it does it was given now.
        """
        return (tape is None or threading.get_ident() in tape.earlier) and self.in_own_thread()
