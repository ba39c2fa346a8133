"""Listen to the connections of http.client while recording, and answer on them in a replay.

urllib.request, urllib3 (requests, botocore) and httplib2 ask by these. Something of ours stands for the socket of a
connection from when that opens, or sends, until there is an answer. The player is asked as soon as the bytes of a
request are complete, and only then is a connection opened: one that is opened by hand waits for its first request.
Redirects, retries, cookies and the decoding of bodies are the client's own, and so is the reading of a recorded answer,
from a file that nothing is behind.

Classes of connections that open them in a way of their own, as those of a socket in the file system do, are left alone.
"""

from __future__ import annotations

import io
import itertools
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from functools import partial, wraps
from types import ModuleType
from typing import Any

from pytest_recall.files.context_values import assigned
from pytest_recall.files.event_loop import running_asyncio
from pytest_recall.replay.call_recorder import CallRecorder, CallStep
from pytest_recall.replay.clients.replayed import raised, read_on
from pytest_recall.replay.exchange import Exchange, Failure, Headers, Request, asks_to_wait, patient
from pytest_recall.replay.hooks import Undo, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import DIRECT, let_through

_PORTS = {"http": 80, "https": 443}
_UNVERIFIED = ("0", "CERT_NONE", "VerifyMode.CERT_NONE")
_FRAMING = frozenset({"connection", "content-length", "keep-alive", "transfer-encoding"})
_READ_AT_ONCE = 1 << 16
_INCOMPLETE = "IncompleteRead"
_LACKING = re.compile(r"IncompleteRead\(\d+ bytes read, (\d+) more expected\)")
_ACCEPT_ENCODING = re.compile(rb"^(accept-encoding:)[^\r\n]*", re.IGNORECASE | re.MULTILINE)
_FOLD = re.compile(r"[ \t]*[\r\n]+[ \t]+")
_ranks = itertools.count()


class HttpCalls:
    """What stands beneath the methods of connections for one player."""

    def __init__(self, player: Player) -> None:
        self.player = player
        self.rank = next(_ranks)  # Of players that stand before one another, the later one is asked first.
        self._classes: set[type] = set()
        self._opening: set[int] = set()

    def patch(self, module: ModuleType) -> list[Undo]:
        """Put the player before the classes of connections of `module`."""
        undo: list[Undo] = []
        for owner in _subclasses(base := _base()):
            if owner.__module__ == module.__name__ and "connect" in vars(owner) and owner not in self._classes:
                self._classes.add(owner)
                undo.append(put_beneath(owner, "connect", self._connect))
        if base.__module__ == module.__name__:
            undo.append(put_beneath(base, "send", self._send))
            undo.append(put_beneath(base, "getresponse", self._getresponse))
        return undo

    def _is_known(self, connection: Any) -> bool:
        """Whether a connection opens as those of the classes do."""
        return next((base in self._classes for base in type(connection).__mro__ if "connect" in vars(base)), False)

    def _connect(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def connect(connection: Any) -> Any:
            # A session that is over must not put off the connection of another, which would not see it fail.
            if self.player.is_past or id(connection) in self._opening or not self._is_known(connection):
                return original(connection)
            connection.sock = Connection(self, connection, open=partial(original, connection))
            if hasattr(connection, "is_verified") and _scheme_of(connection) == "https":
                # urllib3 warns, before it sends, of what is not going to be verified.
                connection.is_verified = str(getattr(connection, "cert_reqs", None)) not in _UNVERIFIED
            return None

        return connect

    def open(self, connection: Any, original: Callable[[], object]) -> Any:
        """Return the socket that `connection` opens by `original`."""
        connection.sock = None
        self._opening.add(id(connection))
        try:
            with let_through(self.player):
                original()
        finally:
            self._opening.discard(id(connection))
        return connection.sock

    def _send(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def send(connection: Any, data: Any) -> Any:
            if not self.player.is_past and id(connection) not in self._opening:
                self._stand_before(connection)
            return original(connection, data)

        return send

    def _stand_before(self, connection: Any) -> None:
        """Put one of ours before the socket that a connection has, if it has one."""
        if connection.sock is None and connection.auto_open:
            connection.connect()
            if isinstance(connection.sock, Connection):
                connection.sock.is_by_hand = False
        above, sock = None, connection.sock
        while isinstance(sock, Connection) and sock.calls.rank > self.rank:
            above, sock = sock, sock.real
        if sock is None or (isinstance(sock, Connection) and sock.calls is self) or not self._is_known(connection):
            return
        if getattr(sock, "family", None) == getattr(socket, "AF_UNIX", ""):
            return
        ours = Connection(self, connection, sock)
        if above is None:
            connection.sock = ours
        else:
            above.real = ours

    def _getresponse(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def getresponse(connection: Any) -> Any:
            ours = connection.sock
            while isinstance(ours, Connection) and ours.calls is not self:
                ours = ours.real
            if not isinstance(ours, Connection):
                return original(connection)
            return ours.answer(partial(original, connection))

        return getresponse


def _base() -> type:
    """Return the class of connections of http.client, where a mock may have put another one."""
    return next(
        cls for cls in object.__subclasses__() if (cls.__module__, cls.__name__) == ("http.client", "HTTPConnection")
    )


def _subclasses(cls: type) -> Iterator[type]:
    """Yield a class and all its subclasses."""
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for subclass in subclasses:
        yield from _subclasses(subclass)


def _scheme_of(connection: Any) -> str:
    return "https" if connection.default_port == _PORTS["https"] else "http"


class Connection:
    """Stands for the socket of `connection`, from when that opens or sends until there is an answer.

    `real` is the socket behind it, if there is one; `open` opens one, for which a client has asked `is_by_hand`.
    """

    def __init__(self, calls: HttpCalls, connection: Any, real: Any = None, open: Callable[[], object] = bool) -> None:
        self.calls, self.real, self.is_by_hand = calls, real, True
        self._connection, self._open = connection, open
        self._settings: list[tuple[str, tuple[Any, ...]]] = []
        self._continuing: tuple[socket.socket, ...] = ()
        self._begin()

    def _begin(self) -> None:
        """Wait for the next request."""
        self._sent = _Sent()
        self._is_asked = False
        self._played: Exchange | None = None
        self._recorder: CallRecorder | None = None
        self._heard: _Heard | None = None
        self._error: Exception | None = None

    def sendall(self, data: Any) -> None:
        """Take in the next bytes of a request, which is sent once it is complete."""
        if not self._is_asked:
            if self._sent.take(data):
                self._ask()
        elif self.real is not None and self._played is None:
            self.real.sendall(data)  # More than the request has said that it is.

    def _ask(self) -> None:
        sent, self._sent = self._sent, _Sent()
        request = sent.request(self._url(sent.target))
        self._leave_continuing()
        step = self._step(request)
        self._is_asked = True
        if step.served is not None:
            self._serve(step.served)
            return
        step.begin()
        self._recorder = step.recorder
        if self.real is None:
            self._open_real()
            if self._error is not None:
                return
        try:
            with let_through(self.calls.player):  # Another player that is behind this one may connect only now.
                self.real.sendall(sent.message(is_plain=step.record and not _is_signed(request.headers)))
        except OSError as error:
            self._error = error  # There may be an answer nevertheless, to what has come through.
            raise

    def _step(self, request: Request) -> CallStep:
        player = self.calls.player
        if running_asyncio() is not None:
            with assigned(DIRECT, "by a client that would have kept its event loop waiting"):
                step = player.ask(request)
        else:
            step = player.ask(request)
        return step if step.held is None else CallStep(served=step.held.wait())

    def _serve(self, exchange: Exchange) -> None:
        self._played, failure = exchange, exchange.failure
        error = raised(failure) if failure is not None and failure.is_unsent else None
        if hasattr(self._connection, "_has_connected_to_proxy") and (error is None or isinstance(error, ssl.SSLError)):
            # urllib3 puts errors that come before this down to the proxy.
            self._connection._has_connected_to_proxy = bool(self._connection.proxy)
        if error is not None:
            raise error

    def _open_real(self) -> None:
        front = self._connection.sock
        try:
            self.real = self.calls.open(self._connection, self._open)
        except Exception as error:
            if self._recorder is not None:
                self._recorder.failed(*_name_of(error))
            if not self.is_by_hand or not isinstance(error, TimeoutError):
                raise
            self._error = error  # Who opens one by hand takes a timeout for one of sending, unless it comes later.
        self._connection.sock = front
        for name, args in self._settings:
            if self.real is not None:
                getattr(self.real, name)(*args)

    def _url(self, target: str) -> str:
        """Return the URL of a request: for a proxy its target is one, and behind a tunnel is another host."""
        if target.lower().startswith(("http://", "https://")):
            return target
        connection = self._connection
        host, port = connection.host, connection.port
        if connection._tunnel_host:
            host, port = connection._tunnel_host, connection._tunnel_port
        host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        scheme = _scheme_of(connection)
        place = host if port in (None, _PORTS[scheme]) else f"{host}:{port}"
        return f"{scheme}://{place}{'' if target.startswith('/') else '/'}{target}"

    def makefile(self, mode: str = "rb", buffering: int = -1) -> Any:
        """Return what an answer is read from."""
        if self._continuing and buffering == 0:
            return self._continuing[0].makefile("rb", buffering)
        if not self._is_asked:
            self._ask()
        if self._error is not None and self.real is None:
            raise self._error
        if self._played is not None:
            played = _PlayedFile(self._played, self.calls.player)
            return played if buffering == 0 else io.BufferedReader(played)
        if self._recorder is None:
            return self.real.makefile(mode, buffering)
        self._heard = _Heard(self.real.makefile("rb", 0), self._recorder)
        return self._heard if buffering == 0 else io.BufferedReader(self._heard, _READ_AT_ONCE)

    def answer(self, read: Callable[[], Any]) -> Any:
        """Return the response that `read` returns, and stand before the socket no longer."""
        try:
            response = read()
            if self._heard is not None:
                self._heard.begin(response)
        except Exception as error:
            if self._recorder is not None:
                self._recorder.failed(type(error).__name__, str(error))
            raise
        finally:
            if self._connection.sock is self:
                self._connection.sock = self.real
            self._leave_continuing()
            self._begin()
        return response

    def _continued(self) -> socket.socket:
        """Return a socket that says to go on with the body of a request, for which botocore waits.

        Whether it may go on is known when the request is complete.
        """
        if not self._continuing:
            self._continuing = socket.socketpair()
            self._continuing[1].sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        return self._continuing[0]

    def _leave_continuing(self) -> None:
        for one in self._continuing:
            one.close()
        self._continuing = ()

    def fileno(self) -> int:
        if self._played is not None or self._sent.waits_to_continue:
            return self._continued().fileno()
        return -1 if self.real is None else int(self.real.fileno())

    def settimeout(self, value: float | None) -> None:
        self._set("settimeout", value)

    def setsockopt(self, *args: Any) -> None:
        self._set("setsockopt", *args)

    def _set(self, name: str, *args: Any) -> None:
        if self.real is None:
            self._settings.append((name, args))
        else:
            getattr(self.real, name)(*args)

    def shutdown(self, how: int) -> None:
        if self.real is not None:
            self.real.shutdown(how)

    def close(self) -> None:
        self._leave_continuing()
        if self._error is not None and self._recorder is not None:
            self._recorder.failed(type(self._error).__name__, str(self._error))
        if self.real is not None:
            self.real.close()

    def __getattr__(self, name: str) -> Any:
        real = vars(self).get("real")
        if real is None:
            raise AttributeError(f"{name}: no connection is open before the first request is complete")
        return getattr(real, name)


def _is_signed(headers: Headers) -> bool:
    return any(name.lower() == "authorization" and value.startswith("AWS4") for name, value in headers)


def _name_of(error: Exception) -> tuple[str, str]:
    """Return the class and the text of an error of connecting; a plain timeout does not say that it is one."""
    return ("ConnectTimeout" if type(error) is TimeoutError else type(error).__name__), str(error)


class _Sent:
    """The bytes of one request, as they are sent."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._method = ""
        self.target = ""
        self._headers: Headers = ()
        self._body_at = 0
        self._length = 0
        self._chunks: _Chunks | None = None
        self._pieces: list[bytes] = []
        self.waits_to_continue = False

    def take(self, data: Any) -> bool:
        """Take in more, and return whether the request is complete. Raises TypeError for what is no bytes."""
        more = memoryview(data).cast("B")
        self._data += more
        if not self._body_at:
            end = self._data.find(b"\r\n\r\n")
            if end < 0:
                return False
            self._body_at = end + 4
            self._read_head(self._data[:end].decode("latin-1"))
            more = memoryview(bytes(self._data[self._body_at :]))
        if self._chunks is not None:
            self._pieces += self._chunks.take(more)
            is_complete = self._chunks.is_over
        else:
            is_complete = len(self._data) - self._body_at >= self._length
        if is_complete:
            self.waits_to_continue = False
        return is_complete

    def _read_head(self, head: str) -> None:
        if "\r\n " in head or "\r\n\t" in head:
            head = _FOLD.sub(" ", head)
        first, *lines = head.split("\r\n")
        self._method, _, first = first.partition(" ")
        self.target = first.rpartition(" ")[0]
        headers = []
        for line in lines:
            name, _, value = line.partition(":")
            value = value.strip(" \t")
            headers.append((name, value))
            lower = name.lower()
            if lower == "content-length" and value.isdigit():
                self._length = int(value)
            elif lower == "transfer-encoding" and "chunked" in value.lower():
                self._chunks = _Chunks()
            elif lower == "expect" and value.lower() == "100-continue":
                self.waits_to_continue = True
        self._headers = tuple(headers)

    def request(self, url: str) -> Request:
        """Return the request to `url`; `target` is what its first line has."""
        body = bytes(self._data[self._body_at :]) if self._chunks is None else b"".join(self._pieces)
        return Request(self._method, url, self._headers, body)

    def message(self, *, is_plain: bool) -> bytes:
        """Return the bytes to send; people and redaction have to read an answer, if it `is_plain`."""
        if not is_plain:
            return bytes(self._data)
        head, body = bytes(self._data[: self._body_at]), bytes(self._data[self._body_at :])
        return _ACCEPT_ENCODING.sub(rb"\1 identity", head) + body


class _Chunks:
    """Takes a body out of its chunks."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._left = -1  # Bytes of the chunk that are to come, -1 where its size is to come.
        self._has_ended = False
        self.is_over = False
        self.is_broken = False

    def take(self, data: Any) -> list[bytes]:
        """Take in more, and return the chunks that are complete."""
        self._data += data
        chunks: list[bytes] = []
        while not self.is_over and not self.is_broken:
            if self._left >= 0:
                if len(self._data) < self._left:
                    break
                chunks.append(bytes(self._data[: self._left]))
                del self._data[: self._left]
                self._left = -1
                continue
            at = self._data.find(b"\n")
            if at < 0:
                break
            line = bytes(self._data[:at]).strip()
            del self._data[: at + 1]
            self._read(line)
        return chunks

    def _read(self, line: bytes) -> None:
        """Read a size, a trailer or an empty line, which is after a chunk or after the trailers."""
        if self._has_ended:
            self.is_over = not line
        elif line:
            try:
                size = int(line.partition(b";")[0], 16)
            except ValueError:
                self.is_broken = True
                return
            self._has_ended = size == 0
            self._left = size or -1

    @property
    def rest(self) -> bytes:
        """The bytes of a chunk that is not complete."""
        return bytes(self._data) if self._left >= 0 else b""

    @property
    def lacking(self) -> int:
        """How many bytes that chunk lacks."""
        return max(self._left - len(self._data), 0)


class _Heard(io.RawIOBase):
    """The answer as it comes over the network; its recorder hears of it."""

    def __init__(self, raw: Any, recorder: CallRecorder) -> None:
        self._raw, self._recorder = raw, recorder
        self._is_paused = False
        self._has_body = False
        self._left: int | None = None
        self._count = 0
        self._chunks: _Chunks | None = None

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def begin(self, response: Any) -> None:
        """The head was read, and what has come behind it is the body's."""
        headers = tuple((name, _FOLD.sub(" ", str(value))) for name, value in response.headers.items())
        version = "HTTP/1.0" if response.version == 10 else "HTTP/1.1"
        self._recorder.started(response.status, response.reason or "", headers, version)
        self._has_body = True
        self._left = response.length
        if response.chunked and response.length is None:
            self._chunks = _Chunks()
        self._is_paused = True
        try:
            early = b"" if response.fp is None else response.fp.peek(1)
        finally:
            self._is_paused = False
        self._take(early)

    def readinto(self, buffer: Any) -> int | None:
        if self._is_paused:
            return None  # Nothing more is there.
        self._recorder.reading = True
        try:
            size: int | None = self._raw.readinto(buffer)
        except Exception as error:
            self._has_body = False
            self._recorder.failed(type(error).__name__, str(error))
            raise
        finally:
            self._recorder.reading = False
        if size and self._has_body:
            self._take(bytes(memoryview(buffer)[:size]))
        elif size == 0 and self._has_body:
            self._end()
        return size

    def _take(self, data: bytes) -> None:
        if self._chunks is not None:
            for chunk in self._chunks.take(data):
                self._piece(chunk)
            is_over = self._chunks.is_over
        elif self._left is None:
            self._piece(data)
            is_over = False
        else:
            self._piece(data[: self._left])
            self._left -= len(data[: self._left])
            is_over = self._left == 0
        if is_over:
            self._has_body = False
            self._recorder.ended()

    def _piece(self, data: bytes) -> None:
        if data:
            self._count += len(data)
            self._recorder.chunk(data)

    def _end(self) -> None:
        """The upstream has closed the connection: the end of some bodies, and too early for others."""
        self._has_body = False
        if self._chunks is not None:
            read, lacking = len(self._chunks.rest), self._chunks.lacking
            self._piece(self._chunks.rest)
        elif self._left is not None:
            read, lacking = self._count, self._left
        else:
            self._recorder.ended()
            return
        expected = f", {lacking} more expected" if lacking else ""
        self._recorder.failed(_INCOMPLETE, f"{_INCOMPLETE}({read} bytes read{expected})")

    def close(self) -> None:
        if not self.closed and self._has_body:
            self._has_body = False
            if self._chunks is not None:
                self._piece(self._chunks.rest)
            self._recorder.closed()
        self._raw.close()
        super().close()


class _PlayedFile(io.RawIOBase):
    """A recorded answer, read as if it came over the network: each piece when someone waits for it."""

    def __init__(self, exchange: Exchange, player: Player) -> None:
        self._pieces = _pieces(exchange, player)
        self._left: Any = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._left:
            self._left = memoryview(next(self._pieces, b""))
        size = min(len(self._left), len(buffer))
        memoryview(buffer).cast("B")[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _pieces(exchange: Exchange, player: Player) -> Iterator[bytes]:
    """Yield the bytes of a recorded answer, and end as that did."""
    response, failure = exchange.response, exchange.failure
    if response is None:
        raise raised(failure)
    is_short = failure is not None and failure.kind == _INCOMPLETE
    lacking = _lacking(failure) if is_short else 0
    headers = patient(response.status, response.headers) if asks_to_wait(response.headers) else response.headers
    version = "HTTP/1.0" if response.http_version == "HTTP/1.0" else "HTTP/1.1"
    lines = [f"{version} {response.status} {response.reason}"]
    lines += [f"{name}: {value}" for name, value in headers if name.lower() not in _FRAMING]
    chunks = [chunk for chunk in response.chunks if chunk]
    is_chunked = "chunked" in (response.header("transfer-encoding") or "").lower()
    if is_chunked:
        lines.append("Transfer-Encoding: chunked")
    elif exchange.request.method != "HEAD" and response.complete and (failure is None or is_short):
        lines.append(f"Content-Length: {sum(map(len, chunks)) + lacking}")
    yield "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")
    if not is_chunked:
        yield from chunks
    else:
        for place, chunk in enumerate(chunks, 1):
            if lacking and place == len(chunks):
                yield b"%x\r\n%b" % (len(chunk) + lacking, chunk)
            else:
                yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    if not response.complete:
        raise read_on(exchange.request.line, player)
    if failure is None:
        yield b"0\r\n\r\n" if is_chunked else b""
    elif not is_short:
        raise raised(failure)


def _lacking(failure: Failure | None) -> int:
    """Return how many bytes were expected when a body ended."""
    said = None if failure is None else _LACKING.fullmatch(failure.message)
    return 0 if said is None else int(said[1])
