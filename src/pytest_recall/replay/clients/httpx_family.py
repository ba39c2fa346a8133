"""Listen to the connection pools of httpx and httpx2 while recording, and replace them in a replay.

The SDKs of OpenAI and Anthropic stand on httpx2, most other agents on httpx. Both send by the pools of their httpcore,
so that a transport or a mock that answers by itself is not seen here. Where one is an alias of the other, the classes
are the same, and each class is hooked once.
"""

from __future__ import annotations

import functools
import inspect
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.clients.replayed import cancelled, in_turn, is_an_end, read_on
from pytest_recall.replay.exchange import Exchange, Failure, Headers, Request, patient
from pytest_recall.replay.hooks import Undo, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import let_through


class LazyContext(ssl.SSLContext):
    """Stands for the context that `make` gives, and makes it at the first connection."""

    _make: Callable[[], ssl.SSLContext]
    _real: ssl.SSLContext | None
    _protocols: list[str] | None

    @classmethod
    def standing_for(cls, make: Callable[[], ssl.SSLContext]) -> LazyContext:
        """Return a context that stands for what `make` gives."""
        context = cls(ssl.PROTOCOL_TLS_CLIENT)
        context._make, context._real, context._protocols = make, None, None
        return context

    def set_alpn_protocols(self, alpn_protocols: Any) -> None:
        self._protocols = list(alpn_protocols)
        super().set_alpn_protocols(self._protocols)

    def wrap_socket(self, *args: Any, **kwargs: Any) -> Any:
        return self._made().wrap_socket(*args, **kwargs)

    def wrap_bio(self, *args: Any, **kwargs: Any) -> Any:
        return self._made().wrap_bio(*args, **kwargs)

    def _made(self) -> ssl.SSLContext:
        if self._real is None:
            self._real = self._make()
            if self._protocols is not None:
                self._real.set_alpn_protocols(self._protocols)
        return self._real


def patch(module: Any, player: Player, patched: set[type]) -> list[Undo]:
    """Put `player` before the pools of `module`, an httpcore, or spare clients of an httpx reading certificates.

    Classes in `patched` have it already.
    """
    undo: list[Undo] = []
    if not hasattr(module, "ConnectionPool"):
        return _without_tls(module) if player.mode == "replay" else undo
    for cls, name, wrap in (
        (module.ConnectionPool, "handle_request", _sync),
        (module.AsyncConnectionPool, "handle_async_request", _async),
    ):
        if cls in patched:
            continue
        patched.add(cls)
        undo.append(put_beneath(cls, name, functools.partial(wrap, module, player=player)))
        undo.append(functools.partial(patched.discard, cls))
    return undo


def _without_tls(module: Any) -> list[Undo]:
    """Let clients be built without reading certificates, which takes longer than all of their replayed calls."""
    # Where transports look the function up; the class may claim to be of another module than it is.
    names: dict[str, Any] = inspect.unwrap(module.HTTPTransport.__init__).__globals__
    original = names.get("create_ssl_context")
    if original is None or getattr(original, "recall", False):
        return []

    @functools.wraps(original)
    def create(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is not True or cert is not None:
            return original(verify=verify, cert=cert, trust_env=trust_env)
        return LazyContext.standing_for(lambda: original(verify=True, cert=None, trust_env=trust_env))

    create.recall = True  # type: ignore[attr-defined]
    names["create_ssl_context"] = create
    return [functools.partial(names.__setitem__, "create_ssl_context", original)]


def _sync(module: Any, original: Callable[..., Any], player: Player) -> Callable[..., Any]:
    class Tee:
        def __init__(self, inner: Any, recorder: CallRecorder) -> None:
            self._inner, self._recorder = inner, recorder

        def __iter__(self) -> Iterator[bytes]:
            try:
                self._recorder.reading = True
                for chunk in self._inner:
                    self._recorder.reading = False
                    self._recorder.chunk(chunk)
                    yield chunk
                    self._recorder.reading = True
            except Exception as error:
                self._recorder.failed(type(error).__name__, str(error))
                raise
            self._recorder.ended()

        def close(self) -> None:
            self._recorder.closed()
            self._inner.close()

    class Played:
        def __init__(self, exchange: Exchange, request: Any) -> None:
            self._exchange, self._request = exchange, request

        def __iter__(self) -> Iterator[bytes]:
            assert self._exchange.response is not None
            yield from self._exchange.response.chunks
            _end(module, player, self._exchange, self._request)

    @functools.wraps(original)
    def handle_request(self: Any, request: Any) -> Any:
        body = b"".join(request.stream)
        request.stream = _Body(body)
        step = player.ask(_asked(request, body))
        if step.served is not None:
            return _played(module, step.served, request, Played)
        if step.held is not None:
            return _played(module, step.held.wait(), request, Played)
        step.begin()
        if step.recorder is None:
            with let_through(player):
                return original(self, request)
        _as_it_is(request, step)
        try:
            with let_through(player):
                response = original(self, request)
        except Exception as error:
            step.recorder.failed(type(error).__name__, str(error))
            raise
        _started(step.recorder, response)
        response.stream = Tee(response.stream, step.recorder)
        return response

    return handle_request


def _async(module: Any, original: Callable[..., Any], player: Player) -> Callable[..., Any]:
    class AsyncTee:
        def __init__(self, inner: Any, recorder: CallRecorder) -> None:
            self._inner, self._recorder = inner, recorder

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                self._recorder.reading = True
                async for chunk in self._inner:
                    self._recorder.reading = False
                    self._recorder.chunk(chunk)
                    yield chunk
                    self._recorder.reading = True
            except BaseException as error:
                if is_an_end(error):
                    self._recorder.failed(type(error).__name__, str(error))
                raise
            self._recorder.ended()

        async def aclose(self) -> None:
            self._recorder.closed()
            await self._inner.aclose()

    class AsyncPlayed:
        def __init__(self, exchange: Exchange, request: Any) -> None:
            self._exchange, self._request = exchange, request

        async def __aiter__(self) -> AsyncIterator[bytes]:
            assert self._exchange.response is not None
            for chunk in self._exchange.response.chunks:
                yield chunk
            await cancelled(self._exchange, _named(self._request), player)
            _end(module, player, self._exchange, self._request)

    @functools.wraps(original)
    async def handle_async_request(self: Any, request: Any) -> Any:
        body = b"".join([part async for part in request.stream])
        request.stream = _Body(body)
        step = player.ask(_asked(request, body))
        if step.served is not None:
            await in_turn()
            if step.served.response is None:
                await cancelled(step.served, _named(request), player)
            return _played(module, step.served, request, AsyncPlayed)
        if step.held is not None:
            return _played(module, await step.held.waited(), request, AsyncPlayed)
        if step.recorder is None:
            await step.begin_async()
            with let_through(player):
                return await original(self, request)
        _as_it_is(request, step)
        try:
            await step.begin_async()
            with let_through(player):
                response = await original(self, request)
        except BaseException as error:
            if is_an_end(error):
                step.recorder.failed(type(error).__name__, str(error))
            raise
        _started(step.recorder, response)
        response.stream = AsyncTee(response.stream, step.recorder)
        return response

    return handle_async_request


class _Body:
    """The body of a request, which was read to ask the player."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        yield self._body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._body


def _asked(request: Any, body: bytes) -> Request:
    return Request(request.method.decode("ascii"), _url(request), _decoded(request.headers), body)


def _url(request: Any) -> str:
    url = request.url
    host = url.host.decode("ascii")
    if ":" in host:
        host = f"[{host}]"
    port = "" if url.port is None else f":{url.port}"
    return f"{url.scheme.decode('ascii')}://{host}{port}{url.target.decode('ascii')}"


def _named(request: Any) -> str:
    return f"{request.method.decode('ascii')} {_url(request)}"


def _as_it_is(request: Any, step: CallStep) -> None:
    """Ask for an answer that is not compressed, if it is to be recorded: people and redaction have to read it."""
    if step.record:
        request.headers = [
            (name, b"identity" if name.lower() == b"accept-encoding" else value) for name, value in request.headers
        ]


def _started(recorder: CallRecorder, response: Any) -> None:
    extensions = response.extensions
    recorder.started(
        response.status,
        extensions.get("reason_phrase", b"").decode("ascii", "replace"),
        _decoded(response.headers),
        extensions.get("http_version", b"HTTP/1.1").decode("ascii", "replace"),
    )


def _decoded(raw: Any) -> Headers:
    return tuple([(name.decode("latin-1"), value.decode("latin-1")) for name, value in raw])


def _played(module: Any, exchange: Exchange, request: Any, stream: Callable[..., Any]) -> Any:
    """Return the recorded response, or raise what the call had ended with."""
    response = exchange.response
    if response is None:
        raise _raised(module, exchange.failure)
    return module.Response(
        response.status,
        headers=[
            (name.encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in patient(response.status, response.headers)
        ],
        content=stream(exchange, request),
        extensions={
            "http_version": response.http_version.encode("ascii", "replace"),
            "reason_phrase": response.reason.encode("ascii", "replace"),
        },
    )


def _end(module: Any, player: Player, exchange: Exchange, request: Any) -> None:
    """Raise what had ended the body, if it was not its end."""
    if exchange.failure is not None:
        raise _raised(module, exchange.failure)
    assert exchange.response is not None
    if not exchange.response.complete:
        raise read_on(_named(request), player)


def _raised(module: Any, failure: Failure | None) -> Exception:
    """Return the error of httpcore that a failure was, which httpx makes one of its own, or else one of httpx."""
    kind, message = failure or Failure("TransportError", "")
    cls = getattr(module, kind, None)
    bases = ("TimeoutException", "NetworkError", "ProtocolError", "ProxyError", "UnsupportedProtocol")
    if not (isinstance(cls, type) and issubclass(cls, tuple(getattr(module, base) for base in bases))):
        httpx = sys.modules.get(module.__name__.replace("httpcore", "httpx"))
        base = getattr(httpx, "TransportError", module.NetworkError)
        cls = getattr(httpx, kind, None)
        if not (isinstance(cls, type) and issubclass(cls, base)):
            cls = base
    error: Exception = cls(message)
    return error
