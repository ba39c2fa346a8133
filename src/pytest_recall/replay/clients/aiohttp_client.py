"""Listen to the connections of aiohttp while recording, and hand out recorded answers as connections in a replay.

The player is asked where a session takes a connection out of its connector, for one request on the wire. Redirects,
cookies, middlewares, traces, retries and the decoding of bodies are aiohttp's own, which reads a recorded answer from
a connection that nothing is behind: the head when the request is written, and each piece when someone waits for it.

An answer that comes compressed although none was asked for is recorded as aiohttp hands it on, if it undoes that, and
without the header that says so. The whole body of a request is read before a connection is opened.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable
from typing import Any

from pytest_recall.replay.call_recorder import CallRecorder
from pytest_recall.replay.clients.replayed import cancelled, in_turn, is_an_end, raised, read_on
from pytest_recall.replay.exchange import CANCELLED, Exchange, Headers, Request, asks_to_wait, patient
from pytest_recall.replay.hooks import Undo, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import let_through

_FRAMING = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
_ENCODING = "content-encoding"
_CALLS = "recall_calls"


def patch(module: Any, player: Player) -> list[Undo]:
    """Put `player` before the connectors of aiohttp, of which `module` is `aiohttp.client`, imported after them."""
    connector, proto = sys.modules["aiohttp.connector"], sys.modules["aiohttp.client_proto"]
    streams: Any = sys.modules["aiohttp.streams"]
    calls = _Calls(module, player)
    return [
        put_beneath(connector.BaseConnector, "connect", calls.connect),
        put_beneath(proto.ResponseHandler, "set_response_params", calls.set_response_params),
        put_beneath(module.ClientResponse, "start", calls.start),
        put_beneath(module.ClientResponse, "_notify_content", calls._notify_content),
        *(
            put_beneath(streams.StreamReader, name, getattr(calls, name))
            for name in ("_wait", "feed_data", "feed_eof", "set_exception")
        ),
    ]


class _Calls:
    """What stands beneath the methods of aiohttp for one player: each connection in use knows its call."""

    def __init__(self, module: Any, player: Player) -> None:
        self._module, self._player = module, player

    def _of(self, protocol: Any) -> Any:
        calls = getattr(protocol, _CALLS, None)
        return None if calls is None else calls.get(self)

    def _give(self, protocol: Any, call: _Live | _Played | None) -> None:
        calls = vars(protocol).setdefault(_CALLS, {})
        if call is None:
            calls.pop(self, None)
        else:
            calls[self] = call

    def connect(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def connect(connector: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
            asked = Request(req.method, str(req.url), _headers_of(req), await _read_body(req))
            step = self._player.ask(asked)
            served = step.served
            if served is None and step.held is not None:
                served = await step.held.waited()
            if served is not None:
                await in_turn()
                return await self._play(connector, req, served)
            if step.record and "accept-encoding" in req.headers:
                # People and redaction have to read the answer.
                req.headers["Accept-Encoding"] = "identity"
            try:
                await step.begin_async()
                with let_through(self._player):
                    connection = await original(connector, req, *args, **kwargs)
            except BaseException as error:
                if step.recorder is not None and is_an_end(error):
                    step.recorder.failed(*self._named(req, error))
                raise
            live = None if step.recorder is None else _Live(step.recorder)
            self._give(connection.protocol, live)
            if live is not None:
                connection.add_callback(live.left)
            return connection

        return connect

    def _named(self, req: Any, error: BaseException) -> tuple[str, str]:
        """Return the class and the text of an error of connecting, as a session raises it."""
        made = getattr(self._module, "ConnectionTimeoutError", None)
        if made is not None and isinstance(error, asyncio.TimeoutError):
            return made.__name__, f"Connection timeout to host {req.url}"
        return type(error).__name__, str(error)

    async def _play(self, connector: Any, req: Any, exchange: Exchange) -> Any:
        asked = f"{req.method} {req.url}"
        if exchange.response is None:
            await cancelled(exchange, asked, self._player)
            error = raised(exchange.failure)
            if isinstance(error, self._module.ClientConnectorError | _timeout_of(self._module)):
                raise error
        loop = asyncio.get_running_loop()
        protocol = sys.modules["aiohttp.client_proto"].ResponseHandler(loop=loop)
        protocol.connection_made(_Nowhere())
        self._give(protocol, _Played(exchange, asked, self._player, protocol))
        made: Any = sys.modules["aiohttp.connector"]
        return made.Connection(_Unpooled(connector), req.connection_key, protocol, loop)

    def set_response_params(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def set_response_params(protocol: Any, **params: Any) -> Any:
            call = self._of(protocol)
            if isinstance(call, _Played):
                params["read_until_eof"] = True  # The length of a body is not recorded.
            elif call is not None:
                call.decodes = bool(params.get("auto_decompress", True))
            return original(protocol, **params)

        return set_response_params

    def start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def start(response: Any, connection: Any) -> Any:
            protocol = connection.protocol
            call = self._of(protocol)
            if call is None:
                return await original(response, connection)
            if isinstance(call, _Played):
                await call.answer(response)
                return await original(response, connection)
            call.is_asked = True
            try:
                started = await original(response, connection)
            except BaseException as error:
                if is_an_end(error):
                    call.failed(error)
                raise
            call.started(response)
            return started

        return start

    def _notify_content(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def notify_content(response: Any) -> Any:
            # The response is released or closed: that gives its body an error that the network has no part in.
            call = None if response.connection is None else self._of(response.connection.protocol)
            if isinstance(call, _Live):
                call.left()
            return original(response)

        return notify_content

    def _wait(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def wait(reader: Any, *args: Any, **kwargs: Any) -> Any:
            call = self._of(reader._protocol)
            if call is None:
                return await original(reader, *args, **kwargs)
            if isinstance(call, _Played):
                return await call.ask_open_questions(reader)
            with call:
                return await original(reader, *args, **kwargs)

        return wait

    def feed_data(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def feed_data(reader: Any, data: Any, *args: Any, **kwargs: Any) -> Any:
            call = self._of(reader._protocol)
            if isinstance(call, _Live) and data:
                call.recorder.chunk(bytes(data))
            return original(reader, data, *args, **kwargs)

        return feed_data

    def feed_eof(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def feed_eof(reader: Any) -> Any:
            call = self._of(reader._protocol)
            if isinstance(call, _Live):
                call.ended()
            return original(reader)

        return feed_eof

    def set_exception(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def set_exception(reader: Any, exc: BaseException, *args: Any, **kwargs: Any) -> Any:
            call = self._of(reader._protocol)
            if isinstance(call, _Live):
                call.broken(exc)
            return original(reader, exc, *args, **kwargs)

        return set_exception


def _timeout_of(module: Any) -> Any:
    return getattr(module, "ConnectionTimeoutError", module.ServerTimeoutError)


class _Live:
    """One call that goes over the network; as a block, someone waits for the next piece of its body in it.

    A body may be there, whole or broken, before someone has read the head. `is_asked` is whether the request is written
    as far as someone waits for the head, and hears of it if there is none.
    """

    def __init__(self, recorder: CallRecorder) -> None:
        self.recorder = recorder
        self.decodes = True
        self.is_asked = False
        self._is_left = False
        self._has_head = False
        self._is_whole = False
        self._error: BaseException | None = None
        self._is_cancelled = False

    def started(self, response: Any) -> None:
        """Take in the head of an answer that someone has read."""
        headers: Headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers
        )
        if self.decodes:
            headers = tuple(header for header in headers if header[0].lower() != _ENCODING)
        version = "HTTP/{}.{}".format(*response.version)
        self.recorder.started(response.status, response.reason or "", headers, version)
        self._has_head = True
        if self._error is not None:
            self.failed(self._error)
        elif self._is_whole or response.content is sys.modules["aiohttp.streams"].EMPTY_PAYLOAD:
            self.recorder.ended()
        elif self._is_left:
            self.recorder.closed()

    def ended(self) -> None:
        """The body came to its end."""
        self._is_whole = True
        if self._has_head:
            self.recorder.ended()

    def broken(self, error: BaseException) -> None:
        """The body ended with an error."""
        self._error = error
        if self._has_head:
            self.failed(error)

    def failed(self, error: BaseException) -> None:
        """The call ended with an error."""
        self.recorder.failed(type(error).__name__, str(error))

    def left(self) -> None:
        """The response or its connection is given back, whether all of the answer was there or not."""
        self._is_left = True
        if not self._has_head:
            if not self.is_asked:
                self.recorder.failed("ClientConnectionError", "the request was not sent to its end")
        elif self._is_cancelled:
            self.recorder.failed(CANCELLED, "")
        else:
            self.recorder.closed()

    def __enter__(self) -> None:
        self.recorder.reading, self._is_cancelled = True, False

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.recorder.reading = False
        if isinstance(error, Exception):
            self.failed(error)
        elif error is not None:
            self._is_cancelled = is_an_end(error)  # Another task may read on.


class _Played:
    """One recorded answer, that `protocol` reads as if it came over the network."""

    def __init__(self, exchange: Exchange, asked: str, player: Player, protocol: Any) -> None:
        self._exchange, self._asked, self._player, self._protocol = exchange, asked, player, protocol
        self._chunks = iter(exchange.response.chunks if exchange.response is not None else ())

    async def answer(self, response: Any) -> None:
        """Answer with the head, once the request is written."""
        recorded = self._exchange.response
        if response._continue is not None:
            self._protocol.data_received(b"HTTP/1.1 100 Continue\r\n\r\n")
        elif (writer := getattr(response, "_writer", None)) is not None:
            await asyncio.wait([writer])
        if recorded is None:
            self._protocol.set_exception(raised(self._exchange.failure))
            return
        headers = recorded.headers
        if asks_to_wait(headers):
            headers = patient(recorded.status, headers)
        version = "HTTP/1.0" if recorded.http_version == "HTTP/1.0" else "HTTP/1.1"
        lines = [f"{version} {recorded.status} {recorded.reason}"]
        lines += (f"{name}: {value}" for name, value in headers if name.lower() not in _FRAMING)
        self._protocol.data_received("\r\n".join([*lines, "", ""]).encode("latin-1", "replace"))

    async def ask_open_questions(self, reader: Any) -> None:
        """Let `reader`, which someone waits for, have the next piece, or what the body had ended with."""
        chunk = next(self._chunks, None)
        if chunk is not None:
            self._protocol.data_received(chunk)
            return
        await cancelled(self._exchange, self._asked, self._player)
        assert self._exchange.response is not None
        if self._exchange.failure is not None:
            error: BaseException = raised(self._exchange.failure)
        elif not self._exchange.response.complete:
            error = read_on(self._asked, self._player)
        else:
            self._protocol.connection_lost(None)
            return
        reader.set_exception(error)
        raise error


class _Nowhere(asyncio.Transport):
    """The transport of a connection that nothing is behind."""

    _is_closing = False

    def write(self, data: Any) -> None:
        """Send nothing."""

    def writelines(self, list_of_data: Any) -> None:
        """Send nothing."""

    def pause_reading(self) -> None:
        """Go on: each piece is waited for."""

    def resume_reading(self) -> None:
        """Go on."""

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        self._is_closing = True

    abort = close


class _Unpooled:
    """Stands for a connector to a connection that is none of its own."""

    def __init__(self, connector: Any) -> None:
        self._connector = connector

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connector, name)

    def _release(self, key: object, protocol: Any, *, should_close: bool = False) -> None:
        protocol.close()


def _headers_of(req: Any) -> Headers:
    """Return the headers of a request without an encoding that aiohttp gives its body when it sends it."""
    return tuple(
        (str(name), str(value))
        for name, value in req.headers.items()
        if not (req.compress and name.lower() == _ENCODING)
    )


class _Collecting:
    """Takes the body of a request as the writer of a connection does."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    async def write(self, chunk: Any, **kwargs: Any) -> None:
        self.pieces.append(bytes(chunk))

    async def drain(self) -> None:
        pass


async def _read_body(req: Any) -> bytes:
    """Return the body of a request, and let it be written from what was read."""
    body = req.body
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if not body and not hasattr(body, "write"):
        return b""
    if not hasattr(body, "write"):
        return b"".join(bytes(piece) for piece in body)
    collecting = _Collecting()
    await body.write(collecting)
    read = b"".join(collecting.pieces)

    async def write(writer: Any) -> None:
        if read:
            await writer.write(read)

    async def write_with_length(writer: Any, content_length: int | None) -> None:
        if read:
            await writer.write(read if content_length is None else read[:content_length])

    # What has given its bytes once may have none left, as a generator; whether it says so is left as it is.
    body.write, body.write_with_length = write, write_with_length
    return read
