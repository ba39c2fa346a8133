"""Detect calls of clients that cannot be recorded, before they are made: in Rust, Go and C, gRPC, and niquests.

No guard of Python's sockets sees them, but for niquests. What is put before their methods says the client and the URL;
the function that is called with them may raise.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

from pytest_recall.replay.hooks import Undo

OnRequest = Callable[[str, str], None]
"""Takes the name of a client and the URL that it is about to ask, empty if that is not known."""


class AskingPlace(NamedTuple):
    """Methods of a class, or functions of a module."""

    owner: str
    """The class; empty for functions of a module."""
    names: tuple[str, ...]
    url: Callable[[tuple[Any, ...], dict[str, Any]], str | None]
    """Reads what a call of one asks."""


_EFFECTIVE_URL = 0x100001
"""CURLINFO_EFFECTIVE_URL: before a request, the URL that was set."""
_RESOLVER = re.compile(r"(?:dns|ipv4|ipv6|xds|google-c2p):(?://[^/]*/)?")


def _of_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the first argument that is a URL; what a client is given besides has names."""
    given = (kwargs.get("url"), *args)
    return next((value for value in given if isinstance(value, str) and "://" in value), "")


def _of_curl(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the URL of the handle that is performed or added."""
    return _text((*args, *kwargs.values())[-1].getinfo(_EFFECTIVE_URL))


def _of_performing(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return _of_curl(args[:1], {})


def _of_request(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    return str(args[0].url)


def _of_sending(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Return the URL of a request that an adapter sends."""
    return str((*args[1:2], kwargs.get("request"))[0].url)


def _of_grpc(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Return the target as a URL; None for a socket of this machine's file system."""
    method = args[0]
    channel = getattr(method, "_channel", None)
    found = getattr(method, "_target", None) or getattr(channel, "target", b"")
    target = _text(found() if callable(found) else found)
    if target.startswith("unix"):
        return None
    return f"grpc://{_RESOLVER.sub('', target, count=1)}" if target else ""


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


_VERBS = (
    *("delete", "get", "head", "options", "patch", "post", "put", "request", "stream", "_stream", "trace"),
    "websocket",
)
_CALLED = ("__call__", "with_call", "future")
_CLIENTS = (AskingPlace("Client", _VERBS, _of_arguments), AskingPlace("AsyncClient", _VERBS, _of_arguments))
_FUNCTIONS = AskingPlace("", _VERBS, _of_arguments)
_STREAMS = (
    "UnaryUnaryMultiCallable",
    "UnaryStreamMultiCallable",
    "StreamUnaryMultiCallable",
    "StreamStreamMultiCallable",
)

CLIENTS: Mapping[str, Mapping[str, tuple[AskingPlace, ...]]] = {
    "curl_cffi": {
        "curl_cffi.curl": (AskingPlace("Curl", ("perform",), _of_performing),),
        "curl_cffi.aio": (AskingPlace("AsyncCurl", ("add_handle",), _of_curl),),
    },
    "grpc": {
        "grpc._channel": tuple(
            AskingPlace(f"_{name}", _CALLED, _of_grpc) for name in (*_STREAMS, "SingleThreadedUnaryStreamMultiCallable")
        ),
        "grpc.aio._channel": tuple(AskingPlace(name, _CALLED, _of_grpc) for name in _STREAMS),
    },
    "httpr": {"httpr": (AskingPlace("RClient", _VERBS, _of_arguments),)},
    "impit": {"impit": (*_CLIENTS, _FUNCTIONS)},
    "niquests": {
        "niquests.adapters": tuple(
            AskingPlace(name, ("send",), _of_sending) for name in ("HTTPAdapter", "AsyncHTTPAdapter")
        )
    },
    "primp": {"primp": (*_CLIENTS, _FUNCTIONS)},
    "pycurl": {"pycurl": ()},
    "pyreqwest": {
        "pyreqwest.request": (
            *(AskingPlace(name, ("send",), _of_request) for name in ("ConsumedRequest", "SyncConsumedRequest")),
            *(
                AskingPlace(name, ("__enter__", "__aenter__"), _of_request)
                for name in ("StreamRequest", "SyncStreamRequest")
            ),
        )
    },
    "rnet": {"rnet": (*_CLIENTS, AskingPlace("BlockingClient", _VERBS, _of_arguments), _FUNCTIONS)},
    "tls_client": {"tls_client.sessions": (AskingPlace("Session", ("execute_request",), _of_arguments),)},
}
"""The clients by the names of their packages, with the modules and the methods by which they ask."""
MODULES: Mapping[str, str] = {module: client for client, modules in CLIENTS.items() for module in modules}
"""The modules that are patched as soon as they are imported, each with its client."""


def patch(module: ModuleType, ask: OnRequest) -> list[Undo]:
    """Call `ask` before each request that `module`, one of `MODULES`, makes. What is returned takes it back."""
    client = MODULES[module.__name__]
    if client == "pycurl":
        return _patch_pycurl(module, ask)
    undo: list[Undo] = []
    for place in CLIENTS[client][module.__name__]:
        owner: Any = getattr(module, place.owner, None) if place.owner else module
        for name in place.names:
            found = None if owner is None else vars(owner).get(name)
            if callable(found):
                undo.append(_put(owner, name, _asking(found, functools.partial(ask, client), place.url)))
    return undo


def _asking(original: Callable[..., Any], ask: Callable[[str], None], url: Callable[..., str | None]) -> Any:
    @functools.wraps(original)
    def asking(*args: Any, **kwargs: Any) -> Any:
        asked = url(args, kwargs)
        if asked is not None:
            ask(asked)
        return original(*args, **kwargs)

    return asking


def _put(owner: Any, name: str, value: Any) -> Undo:
    found = vars(owner)[name]
    setattr(owner, name, value)

    def undo() -> None:
        if vars(owner).get(name) is value:
            setattr(owner, name, found)

    return undo


def _patch_pycurl(module: Any, ask: OnRequest) -> list[Undo]:
    """Let subclasses stand for the classes of pycurl, whose attributes cannot be set."""
    real, real_multi = module.Curl, module.CurlMulti

    def performing(name: str) -> Callable[..., Any]:
        def perform(self: Any, *args: Any) -> Any:
            ask("pycurl", _text(self.getinfo(_EFFECTIVE_URL)))
            return getattr(real, name)(self, *args)

        return perform

    def add_handle(self: Any, curl: Any) -> Any:
        if isinstance(curl, real):
            ask("pycurl", _text(curl.getinfo(_EFFECTIVE_URL)))
        return real_multi.add_handle(self, curl)

    names = [name for name in ("perform", "perform_rb", "perform_rs") if hasattr(real, name)]
    curl = _standing_for(real, {name: performing(name) for name in names})
    return [
        _put(module, "Curl", curl),
        _put(module, "CurlMulti", _standing_for(real_multi, {"add_handle": add_handle})),
    ]


def _standing_for(real: type, members: dict[str, Any]) -> type:
    """Return a subclass of `real` with these members, of which all instances of `real` are instances."""

    class _Standing(type(real)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, real) if cls is made else super().__instancecheck__(instance)

        def __subclasscheck__(cls, subclass: type) -> bool:
            return issubclass(subclass, real) if cls is made else super().__subclasscheck__(subclass)

    made: type = _Standing(real.__name__, (real,), {"__module__": real.__module__, "__doc__": real.__doc__, **members})
    return made
