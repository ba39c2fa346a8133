"""Listen to the HTTP clients of tornado while recording, and answer for them in a replay.

A call is what a client fetches, with the redirects that it follows. It is heard as a whole, without what came before
an error, and waits for no rate. An error comes with the status 599, as tornado hands it out.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any

from pytest_recall.files.context_values import assigned
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.clients.replayed import raised, read_on
from pytest_recall.replay.exchange import Exchange, Request, asks_to_wait, patient
from pytest_recall.replay.hooks import Undo, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import DIRECT, let_through

_NO_ANSWER = 599


def patch(module: Any, player: Player) -> list[Undo]:
    """Put `player` before the client of `module`, which is in Python or by curl."""
    owner = module.SimpleAsyncHTTPClient if hasattr(module, "SimpleAsyncHTTPClient") else module.CurlAsyncHTTPClient
    return [
        put_beneath(owner, "fetch_impl", functools.partial(_fetch_impl, player)),
        # What waits in the queue is sent from wherever there is room for it.
        put_beneath(owner, "_process_queue", let_through(player)),
    ]


def _fetch_impl(player: Player, original: Callable[..., Any]) -> Callable[..., Any]:
    send = let_through(player)(original)

    @functools.wraps(original)
    def fetch_impl(self: Any, request: Any, callback: Callable[[Any], object]) -> Any:
        if hasattr(request.request, "original_request"):
            return send(self, request, callback)  # Where a call is redirected to.
        step = _step(request, player)
        if step.served is not None:
            return callback(_played(request, step.served, player))
        if step.recorder is not None:
            request = _heard(request, step)
            callback = functools.partial(_hear, step.recorder, callback, request)
        return send(self, request, callback)

    return fetch_impl


def _step(request: Any, player: Player) -> CallStep:
    if request.body_producer is not None:
        raise player.refuse(
            f"{request.line}: a body that is produced while it is sent can be neither recorded nor"
            " replayed; give the body as bytes or text"
        )
    with assigned(DIRECT, "by a client that would have kept its event loop waiting"):
        return player.ask(
            Request(request.method, request.url, tuple(request.headers.get_all()), bytes(request.body or b""))
        )


def _heard(request: Any, step: CallStep) -> Any:
    """Return the request with an answer asked for that people and redaction can read, and heard piece by piece."""
    made = copy.copy(request.request)
    recorder, given = step.recorder, request.streaming_callback
    if step.record and "accept-encoding" in made.headers:
        made.headers = made.headers.copy()
        made.headers["accept-encoding"] = "identity"
    if given is not None and recorder is not None:

        def take(chunk: bytes) -> None:
            recorder.chunk(chunk)
            given(chunk)

        made.streaming_callback = take
    return type(request)(made, request.defaults)


def _hear(recorder: CallRecorder, callback: Callable[[Any], object], request: Any, response: Any) -> object:
    if response.code == _NO_ANSWER and response.error is not None:
        recorder.failed(type(response.error).__name__, str(response.error))
    else:
        recorder.started(response.code, response.reason, tuple(response.headers.get_all()))
        if request.streaming_callback is None and response.body:
            recorder.chunk(response.body)
        recorder.ended()
    return callback(response)


def _played(request: Any, exchange: Exchange, player: Player) -> Any:
    """Return the recorded response, after its pieces have gone to who takes them."""
    httpclient: Any = sys.modules["tornado.httpclient"]
    response = exchange.response
    if response is None or exchange.failure is not None:
        return httpclient.HTTPResponse(request, _NO_ANSWER, error=raised(exchange.failure))
    if not response.complete:
        raise read_on(request.line, player)
    recorded = patient(response.status, response.headers) if asks_to_wait(response.headers) else response.headers
    headers = sys.modules["tornado.httputil"].HTTPHeaders()
    for name, value in recorded:
        headers.add(name, value)
    if request.header_callback is not None:
        for line in (f"HTTP/1.1 {response.status} {response.reason}", *(": ".join(pair) for pair in recorded), ""):
            request.header_callback(f"{line}\r\n")
    chunks = response.chunks
    if request.streaming_callback is not None:
        for chunk in chunks:
            request.streaming_callback(chunk)
        chunks = ()
    return httpclient.HTTPResponse(
        request, response.status, headers, BytesIO(b"".join(chunks)), reason=response.reason, request_time=0.0
    )
