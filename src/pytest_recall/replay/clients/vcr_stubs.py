"""Reach requests, urllib3, botocore, http.client, httplib2 and tornado through the stubs of vcrpy.

The stubs ask an object that stands for vcrpy's cassette; here it asks the player. They are
put in place once for the session, as soon as a call is made: loading vcrpy loads all of
these libraries that are installed, which must not happen while one of them is being imported.

What the stubs lose, compared with our own hooks for httpx and aiohttp:
- They read a response whole before they hand it on. A stream is recorded as one piece, its
  reader sees nothing before its end, and an early close is not seen. So a run that neither
  records nor replays, goes by batch nor limits a rate is left alone, and its calls through
  these libraries are not counted.
- A connection that breaks within a response is recorded as the error alone. The error of a
  replay has the recorded class and text, and none of its other attributes.
- `geturl` of urllib3 is the whole URL, also after a redirect to a path.
- The version of HTTP, and the order of the response's headers in http.client. Its errors of
  connecting come with the response, where urllib.request does not make them a URLError.
- tornado: errors become the status 599, and streaming callbacks are refused by vcrpy. Its calls
  wait for no rate.
- A client that waits on its own account between attempts (`backoff_factor`) waits in a replay too.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from pytest_recall.files.errors import MissError
from pytest_recall.files.event_loop import running_asyncio
from pytest_recall.replay.call_recorder import CallStep
from pytest_recall.replay.clients.replayed import raised
from pytest_recall.replay.clients.vcr_import import PartialImport, find_methods
from pytest_recall.replay.exchange import Headers, asks_to_wait, patient
from pytest_recall.replay.forks import lock
from pytest_recall.replay.formats.vcr_shapes import as_handed_out, is_raw, request_of, response_dict, tell
from pytest_recall.replay.hooks import Undo, defined, once_imported, put_beneath
from pytest_recall.replay.player import Player
from pytest_recall.replay.tape import directly, let_through

ENTRIES: Mapping[str, tuple[str, str]] = {
    "urllib3.connectionpool": ("HTTPConnectionPool", "urlopen"),
    "httplib2": ("Http", "request"),
    "tornado.simple_httpclient": ("SimpleAsyncHTTPClient", "fetch_impl"),
    "tornado.curl_httpclient": ("CurlAsyncHTTPClient", "fetch_impl"),
}
"""Calling one of these methods, by module and class, puts the stubs in place; requests and botocore call urllib3's."""

_STDLIB = ("HTTPConnection", "HTTPSConnection")
# Classes of connections of these packages return bodies without their content encoding; others as they came.
_DECODING = ("urllib3", "requests", "botocore")


def install(player: Player) -> list[Undo]:
    """Put `player` before these libraries, whenever they are used, and return how to take it back."""
    if importlib.util.find_spec("vcr") is None:
        return []
    stubs = _Stubs(player)
    # Undone from the last to the first.
    return [
        stubs.close,
        once_imported(("http.client",), stubs.stand_before),
        once_imported(ENTRIES, stubs.wait_for_a_call),
        once_imported(("vcr",), stubs.load),
    ]


class _Stubs:
    """The stubs of vcrpy for one player, loaded when they are first needed."""

    def __init__(self, player: Player) -> None:
        self._cassette = Standin(player)
        self._undo = ExitStack()
        self._entries = ExitStack()
        self._lock = lock()
        self._partial: PartialImport | None = None
        self._state = "waiting"
        self._real: dict[str, Any] = {}
        self._stubs: dict[str, Any] = {}
        self._placed: set[tuple[Any, str]] = set()
        self._taken = False

    def load(self, _: ModuleType | None = None) -> None:
        """Put the stubs in place, unless they are."""
        # No lock is held meanwhile: threads may wait for one another's imports. They import the package first as well.
        with self._without_others():
            importlib.import_module("vcr")
            patch = importlib.import_module("vcr.patch")
        builder_class = getattr(patch, "CassettePatcherBuilder", None)
        if builder_class is None:
            return  # It is just being imported, and `vcr` comes after it.
        with self._lock:
            if self._state == "waiting":
                self._state = "on"
                self._entries.close()
                self._apply(patch, sys.modules["vcr.stubs"], builder_class(self._cassette))

    def _without_others(self) -> AbstractContextManager[None]:
        """Return a block in which vcrpy is imported without clients that the stubs are not used for."""
        with self._lock:
            if self._partial is None:
                self._partial = PartialImport()
                # Not taken away before the end: an import of another thread would pass by the finder after it.
                self._undo.callback(self._partial.install())
        return self._partial.here()

    def wait_for_a_call(self, module: Any) -> None:
        """Let the first call of a library load the stubs."""
        owner_name, name = ENTRIES[module.__name__]
        owner: Any = getattr(module, owner_name, None)
        if self._state != "waiting" or not hasattr(owner, name):
            return
        function = defined(owner, name) or getattr(owner, name)

        def entry(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                self.load()
                if self._state == "waiting":
                    return original(*args, **kwargs)
                # Of tornado the method itself is replaced now, of the others what it asks by.
                return (getattr(owner, name) if name == "fetch_impl" else function)(*args, **kwargs)

            return call

        self._entries.callback(put_beneath(owner, name, entry))

    def _apply(self, patch: Any, stubs: Any, builder: Any) -> None:
        for name in _STDLIB:
            stub = getattr(stubs, f"VCR{name}")
            if name in self._real:
                # They were looked up while a door of ours stood there.
                stub._baseclass = self._real[name]
                setattr(patch, f"_{name}", self._real[name])
            self._stubs[name] = builder._get_cassette_subclass(stub)
        # The stubs put back the real classes while they connect, for all threads at once, so that
        # calls of other threads went by unseen. We leave in place what code of a library looks up.
        self._replace(patch, "force_reset", nullcontext)
        find_methods(patch)
        self._put_in_place(builder)
        for stub, ours in builder._class_to_cassette_subclass.items():
            ours.getresponse = _watched(ours.getresponse)
            # The stub asks about the request first; while there is none it does not connect.
            ours.connect = _letting_through(ours.connect)
            # A cassette of vcrpy's own sends by what it takes for real, which so is ours.
            ours._baseclass = stub._baseclass
            self._replace(stub, "_baseclass", ours)
        cassette = importlib.import_module("vcr.cassette").CassetteContextDecorator
        self._undo.callback(put_beneath(cassette, "__exit__", functools.partial(self._after, builder)))

    def _put_in_place(self, builder: Any) -> None:
        """Put the stubs where they are not yet, and where no cassette of vcrpy's own has put others."""
        self._taken = False
        for patcher in list(builder.build()):
            if hasattr(patcher, "_connection_pool_to_connections"):
                patcher._connection_pool_to_connections = WeakKeyDictionary()
                self._undo.enter_context(patcher)
                continue
            owner, attribute = patcher.getter(), patcher.attribute
            if (owner, attribute) in self._placed:
                continue
            if _is_taken(owner, attribute):
                self._taken = True
                continue  # That cassette is asked first, and sends by ours.
            if isinstance(patcher.new, type) and isinstance(owner, ModuleType):
                continue  # Pools and tables of connections name the stubs as well; who subclasses the class does not.
            self._placed.add((owner, attribute))
            self._undo.enter_context(patcher)
            if attribute == "fetch_impl":
                # What waits in the queue was put there by that method, and is sent from wherever there is room for it.
                self._undo.callback(put_beneath(owner, "_process_queue", _letting_through))

    def _after(self, builder: Any, leave: Callable[..., Any]) -> Callable[..., Any]:
        """Return the end of a cassette of vcrpy's own, behind which the stubs take its places."""

        @functools.wraps(leave)
        def left(*args: Any) -> Any:
            try:
                return leave(*args)
            finally:
                with self._lock:
                    if self._taken and self._state == "on":
                        self._put_in_place(builder)
                        self.stand_before(sys.modules["http.client"])

        return left

    def stand_before(self, client: Any) -> None:
        """Let connections of http.client load the stubs when they are made."""
        for name in _STDLIB:
            real: Any = getattr(client, name, None)
            if not isinstance(real, type) or _is_anothers(real):
                continue
            self._real[name] = real
            self._replace(client, name, _door(real, functools.partial(self._stub, name)))
            if name == "HTTPSConnection":
                # It calls `super(HTTPSConnection, self)`, and what has that name is not a class now.
                secure = self._real[name]
                self._replace(secure, "__init__", _knowing(secure.__init__, HTTPSConnection=secure))

    def _stub(self, name: str) -> Any:
        if self._state == "waiting":
            self.load()
        return self._stubs.get(name, self._real[name])

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    def close(self) -> None:
        """Take everything back."""
        with self._lock:
            self._state = "over"
            self._stubs.clear()
            self._entries.close()
        self._undo.close()


def _is_anothers(stub: Any) -> bool:
    """Whether `stub` is a class of connections that a cassette of vcrpy's own has put in place."""
    cassette = getattr(stub, "cassette", None)
    return isinstance(stub, type) and cassette is not None and not isinstance(cassette, Standin)


def _is_taken(owner: Any, attribute: str) -> bool:
    """Whether a cassette of vcrpy's own has put its connections where `attribute` of `owner` is."""
    pool = getattr(owner, "HTTPConnectionPool", owner)
    return _is_anothers(getattr(owner, attribute, None)) or _is_anothers(getattr(pool, "ConnectionCls", None))


def _door(real: type, stub: Callable[[], Any]) -> Any:
    """Return what stands for the class `real` in its module: instances are stubs, all else is the class."""

    class StandIn:
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return stub()(*args, **kwargs)

        def __getattribute__(self, name: str) -> Any:
            if name == "__mro_entries__":
                return lambda bases: (real,)  # A subclass is one of the real class.
            return getattr(real, name)

        def __instancecheck__(self, instance: Any) -> bool:
            return isinstance(instance, real) or getattr(type(instance), "_baseclass", None) is real

        def __subclasscheck__(self, cls: type) -> bool:
            return issubclass(cls, real)

        def __repr__(self) -> str:
            return repr(real)

    return StandIn()


def _knowing(function: Any, **names: Any) -> Any:
    """Return `function` with other values for some of its globals."""
    known = {**function.__globals__, **names}
    copy = FunctionType(function.__code__, known, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)


def _real(base: Any) -> Any:
    """Return the library's class beneath stubs that stand before one another, as those of a session in a session do."""
    while hasattr(base, "_baseclass"):
        base = base._baseclass
    return base


def _watched(getresponse: Any) -> Any:
    @functools.wraps(getresponse)
    def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            self._vcr_request.recall_is_raw = not _real(self._baseclass).__module__.startswith(_DECODING)
            self.cassette.begin(self._vcr_request)
            with let_through():
                return getresponse(self, *args, **kwargs)
        except Exception as error:
            _failed(getattr(getattr(self, "_vcr_request", None), "recall", None), error)
            raise

    return watched


def _letting_through(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def letting_through(*args: Any, **kwargs: Any) -> Any:
        with let_through():
            return function(*args, **kwargs)

    return letting_through


def _failed(step: CallStep | None, error: Exception) -> None:
    # After its end a recorder does not listen any more: a status that is raised as an error is none.
    if step is not None and step.recorder is not None:
        step.recorder.failed(type(error).__name__, str(error))


class Standin:
    """What vcrpy's stubs take for a cassette. The decision on a request is made once and stays with it."""

    _path = "Recall"
    custom_patches = ()
    skip_patchers = ("httplib", "requests", "aiohttp", "httpx", "httpx2")
    write_protected = False

    def __init__(self, player: Player) -> None:
        self._player = player

    def can_play_response_for(self, request: Any) -> bool:
        """Whether `request` is served. Raises MissError where it must not be made."""
        return self._step(request).served is not None

    def begin(self, request: Any) -> None:
        """Wait until `request` may be made. Raises MissError where it must not be."""
        self._step(request).begin()

    def filter_request(self, request: Any) -> Any:
        """Return the request: none is left out."""
        return request

    def find_requests_with_most_matches(self, request: Any) -> list[tuple[Any, ...]]:
        """Return what is played where a recorded response redirects to `request`."""
        return [(request,)]

    def play_response(self, request: Any) -> dict[str, Any]:
        """Return the recorded response, or raise what the call had ended with."""
        exchange = self._step(request).served
        assert exchange is not None
        response = exchange.response
        if exchange.failure is not None or response is None:
            raise raised(exchange.failure)
        if not response.complete:
            raise MissError(
                f"{request.method} {request.uri}: the recorded client had closed the stream before its end, and this"
                " one reads it whole; record the case again"
            )
        headers, body = as_handed_out(exchange, request)
        if asks_to_wait(headers):
            headers = patient(response.status, headers)
        return response_dict(response, request.uri, headers, body)

    def append(self, request: Any, response: Any) -> None:
        """Take in the response to a call that was let through."""
        # What follows a redirect was not asked for before.
        step = getattr(request, "recall", None) or self._decide(request)
        if step.recorder is not None:
            tell(step.recorder, response, is_raw(request))

    def _step(self, request: Any) -> CallStep:
        step: CallStep | None = getattr(request, "recall", None)
        return self._decide(request) if step is None else step

    def _decide(self, request: Any) -> CallStep:
        try:
            asked = request_of(request)
        except TypeError as error:
            raise self._player.refuse(
                f"{request.method} {request.uri}: {error}, so that the call can be neither recorded nor replayed; give"
                " the body as bytes, text or an open file"
            ) from None
        if running_asyncio() is not None:
            with directly("by a client that would have kept its event loop waiting"):
                step = self._player.ask(asked)
        else:
            step = self._player.ask(asked)
        if step.held is not None:
            step = CallStep(served=step.held.wait())
        request.recall = step
        # An answer that is not compressed can be read by people and redaction; a signed request stays as it is.
        if step.record and "accept-encoding" in request.headers and not _is_signed(asked.headers):
            request.headers["accept-encoding"] = "identity"
        return step


def _is_signed(headers: Headers) -> bool:
    return any(name.lower() == "authorization" and value.startswith("AWS4") for name, value in headers)
