"""Listen to the transports of lm15 while recording, and replace them in a replay.

DSPy has a copy of lm15, and asks by it wherever it does not ask by LiteLLM. Its transports stand on sockets, with
a request and a response of their own.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.clients.replayed import cancelled, in_turn, is_an_end, read_on
from pytest_recall.replay.exchange import Exchange, Failure, Request, patient
from pytest_recall.replay.hooks import Undo, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import let_through


def patch(module: Any, player: Player) -> list[Undo]:
    """Put `player` before the transport of `module`, a module of transports."""
    if hasattr(module, "StdlibTransport"):
        return [put_beneath(module.StdlibTransport, "stream", functools.partial(_sync, module, player=player))]
    return [put_beneath(module.StdlibAsyncTransport, "_do_stream", functools.partial(_async, module, player=player))]


def _sync(module: Any, original: Callable[..., Any], player: Player) -> Callable[..., Any]:
    def listened(chunks: Iterator[bytes], recorder: CallRecorder) -> Iterator[bytes]:
        try:
            recorder.reading = True
            for chunk in chunks:
                recorder.reading = False
                recorder.chunk(chunk)
                yield chunk
                recorder.reading = True
        except Exception as error:
            recorder.failed(type(error).__name__, str(error))
            raise
        recorder.ended()

    def played(exchange: Exchange, asked: str) -> Iterator[bytes]:
        assert exchange.response is not None
        yield from exchange.response.chunks
        _end(module, player, exchange, asked)

    @functools.wraps(original)
    def stream(self: Any, request: Any) -> Any:
        asked = _named(request)
        step = player.ask(_asked(request))
        served = step.held.wait() if step.held is not None else step.served
        if served is not None:
            return _answer(module, served, played(served, asked), lambda body_consumed: None)
        step.begin()
        _as_it_is(request, step)
        try:
            with let_through(player):
                response = original(self, request)
        except Exception as error:
            if step.recorder is not None:
                step.recorder.failed(type(error).__name__, str(error))
            raise
        recorder = step.recorder
        if recorder is not None:
            release = response._release

            def released(body_consumed: bool) -> None:
                recorder.closed()
                release(body_consumed)

            _started(recorder, response)
            response._chunks, response._release = listened(response._chunks, recorder), released
        return response

    return stream


def _async(module: Any, original: Callable[..., Any], player: Player) -> Callable[..., Any]:
    async def listened(chunks: AsyncIterator[bytes], recorder: CallRecorder) -> AsyncIterator[bytes]:
        try:
            recorder.reading = True
            async for chunk in chunks:
                recorder.reading = False
                recorder.chunk(chunk)
                yield chunk
                recorder.reading = True
        except BaseException as error:
            if is_an_end(error):
                recorder.failed(type(error).__name__, str(error))
            raise
        recorder.ended()

    async def played(exchange: Exchange, asked: str) -> AsyncIterator[bytes]:
        assert exchange.response is not None
        for chunk in exchange.response.chunks:
            yield chunk
        await cancelled(exchange, asked, player)
        _end(module, player, exchange, asked)

    async def leave(body_consumed: bool) -> None:
        pass

    @functools.wraps(original)
    async def do_stream(self: Any, request: Any) -> Any:
        asked = _named(request)
        step = player.ask(_asked(request))
        served = await step.held.waited() if step.held is not None else step.served
        if served is not None:
            await in_turn()
            if served.response is None:
                await cancelled(served, asked, player)
            return _answer(module, served, played(served, asked), leave)
        _as_it_is(request, step)
        try:
            await step.begin_async()
            with let_through(player):
                response = await original(self, request)
        except BaseException as error:
            if step.recorder is not None and is_an_end(error):
                step.recorder.failed(type(error).__name__, str(error))
            raise
        recorder = step.recorder
        if recorder is not None:
            release = response._release

            async def released(body_consumed: bool) -> None:
                recorder.closed()
                await release(body_consumed)

            _started(recorder, response)
            response._chunks, response._release = listened(response._chunks, recorder), released
        return response

    return do_stream


def _named(request: Any) -> str:
    return f"{request.method} {request.url}"


def _asked(request: Any) -> Request:
    return Request(request.method, request.url, tuple((str(n), str(v)) for n, v in request.headers), request.body)


def _as_it_is(request: Any, step: CallStep) -> None:
    """Ask for an answer that is not compressed, if it is to be recorded: people and redaction have to read it."""
    if step.record:
        request.headers = [
            (name, "identity" if name.lower() == "accept-encoding" else value) for name, value in request.headers
        ]


def _started(recorder: CallRecorder, response: Any) -> None:
    recorder.started(response.status, response.reason, tuple(response.headers), response.http_version)


def _answer(module: Any, exchange: Exchange, chunks: Any, release: Callable[..., Any]) -> Any:
    """Return the recorded response, or raise what the call had ended with."""
    if exchange.response is None:
        raise _raised(module, exchange.failure)
    response = exchange.response
    made = module.TransportResponse if hasattr(module, "StdlibTransport") else module.AsyncTransportResponse
    return made(
        status=response.status,
        reason=response.reason,
        headers=list(patient(response.status, response.headers)),
        http_version=response.http_version,
        chunks=chunks,
        release=release,
    )


def _end(module: Any, player: Player, exchange: Exchange, asked: str) -> None:
    """Raise what had ended the body, if it was not its end."""
    if exchange.failure is not None:
        raise _raised(module, exchange.failure)
    assert exchange.response is not None
    if not exchange.response.complete:
        raise read_on(asked, player)


def _raised(module: Any, failure: Failure | None) -> Exception:
    """Return the error of a transport that a failure was."""
    kind, message = failure or Failure("TransportError", "")
    base = module.TransportError
    cls = getattr(sys.modules[f"{module.__package__}._exceptions"], kind, base)
    error: Exception = (cls if isinstance(cls, type) and issubclass(cls, base) else base)(message)
    return error
