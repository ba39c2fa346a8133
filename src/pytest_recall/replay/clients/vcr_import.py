"""Import vcrpy without the clients that its stubs are not used for, unless they are there.

vcrpy imports every client that is installed, in whichever thread makes the first call. Meanwhile code of other threads
may look a client up in `sys.modules`, where it is before it can be used: OpenAI's SDK does so with httpx2, which may be
imported by vcrpy alone. A cassette of vcrpy's own has to know these clients, and is given them as it begins.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType, ModuleType
from typing import Any

from pytest_recall.replay.forks import lock
from pytest_recall.replay.hooks import defined, put_beneath

LEFT_OUT = ("httpx", "httpx2", "httpx_curl_cffi", "pyreqwest")
"""The clients below which the player is by itself, and transports of them."""
_PATCH = "vcr.patch"
_METHODS: Mapping[str, tuple[str, str, str]] = {
    "_AiohttpClientSessionRequest": ("aiohttp.client", "ClientSession", "_request"),
    "_HttpxHttpTransport_handle_request": ("httpx", "HTTPTransport", "handle_request"),
    "_HttpxAsyncHttpTransport_handle_async_request": ("httpx", "AsyncHTTPTransport", "handle_async_request"),
    "_Httpx2HttpTransport_handle_request": ("httpx2", "HTTPTransport", "handle_request"),
    "_Httpx2AsyncHttpTransport_handle_async_request": ("httpx2", "AsyncHTTPTransport", "handle_async_request"),
}
"""Names under which vcrpy keeps methods as they are when it is imported, which may be those of a mock."""


class PartialImport(importlib.abc.MetaPathFinder):
    """Lets `vcr.patch` find none of these clients while it is imported in a block, where it asks for them itself."""

    def __init__(self) -> None:
        self._here = threading.local()
        self._lock = lock()
        self._lacks = False

    def install(self) -> Callable[[], None]:
        """Stand before the other finders, and return what takes it back."""
        sys.meta_path.insert(0, self)
        return lambda: sys.meta_path.remove(self)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Leave them out in this thread, until a cassette of vcrpy's own begins, which may be after the session."""
        self._here.now = True
        try:
            yield
        finally:
            self._here.now = False
            with self._lock:
                if self._lacks:
                    self._lacks = False
                    _complete_later()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname in LEFT_OUT and getattr(self._here, "now", False) and _importer() == _PATCH:
            self._lacks = True
            raise ModuleNotFoundError(f"{fullname} is imported when it is used", name=fullname)
        return None


def _complete_later() -> None:
    """Import what was left out as soon as a cassette of vcrpy's own begins."""

    def entering(enter: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(enter)
        def entered(*args: Any) -> Any:
            _complete()
            undo()
            return enter(*args)

        return entered

    undo = put_beneath(sys.modules["vcr.cassette"].CassetteContextDecorator, "__enter__", entering)


def _complete() -> None:
    """Give `vcr.patch` the names that it lacks, by running it once more, with all clients."""
    patch = sys.modules[_PATCH]
    whole = ModuleType(_PATCH)
    whole.__dict__.update({"__package__": patch.__package__, "__spec__": patch.__spec__, "__file__": patch.__file__})
    assert patch.__spec__ is not None
    assert patch.__spec__.loader is not None
    patch.__spec__.loader.exec_module(whole)
    for name, value in vars(whole).items():
        if name not in vars(patch):
            setattr(patch, name, value)
    find_methods(patch)


def find_methods(patch: Any) -> None:
    """Let vcrpy know the methods of libraries as they were defined."""
    for name, (module, class_name, method) in _METHODS.items():
        owner = getattr(sys.modules.get(module), class_name, None)
        if hasattr(patch, name) and owner is not None:
            setattr(patch, name, defined(owner, method) or getattr(patch, name))


def _importer() -> str:
    """Return the module whose import statement has led here."""
    frame: FrameType | None = sys._getframe(1)
    module = "importlib"
    while frame is not None and module.partition(".")[0] in ("importlib", "pytest_recall"):
        module = str(frame.f_globals.get("__name__", ""))
        frame = frame.f_back
    return module
