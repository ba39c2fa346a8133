"""Clients that cannot be recorded and are not installed here: modules with their classes stand for them.

`scripts/check-clients.py` has the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from pytest_recall.replay.clients import native

URL = "https://api.example.com/v1"


class Curl:
    """A handle as those of pycurl and curl_cffi: its URL is read out of it."""

    def __init__(self, url: str | bytes = URL) -> None:
        self.url = url
        self.performed = 0

    def getinfo(self, option: int) -> str | bytes:
        return self.url if option == 0x100001 else ""

    def perform(self) -> str:
        self.performed += 1
        return "performed"

    def perform_rb(self) -> bytes:
        self.performed += 1
        return b"performed"


class CurlMulti:
    """What asks by several handles at once."""

    def add_handle(self, curl: Any) -> Any:
        return curl


def module(name: str, **members: Any) -> Any:
    """Return a module with classes of its own, so that none of them stays patched."""
    made: Any = ModuleType(name)
    for member, value in members.items():
        copied = type(member, (), dict(vars(value))) if isinstance(value, type) else value
        setattr(made, member, copied)
    return made


class Client:
    """A client as those of impit, primp, rnet and httpr."""

    def get(self, *args: Any, **kwargs: Any) -> str:
        return "got"


class Sent:
    """A request of pyreqwest."""

    def send(self) -> str:
        return "sent"


Asks = list[tuple[str, str]]


def patched(made: ModuleType) -> tuple[Asks, Callable[[], None]]:
    """Patch a module; return the list of what is asked, and what takes the patches back."""
    asked: Asks = []
    undo = native.patch(made, lambda client, url: asked.append((client, url)))

    def take_back() -> None:
        while undo:
            undo.pop()()

    return asked, take_back


@pytest.mark.parametrize(
    ("args", "kwargs", "url"),
    [
        ((URL,), {}, URL),
        (("GET", URL), {}, URL),
        ((), {"url": URL, "headers": {"a": "http://no.example"}}, URL),
        ((5,), {}, ""),
    ],
)
def test_a_client_asks_the_first_of_its_arguments_that_is_a_url(args: Any, kwargs: Any, url: str) -> None:
    impit = module("impit", Client=Client, get=lambda *args, **kwargs: "got")
    before = dict(vars(impit.Client)), impit.get
    asked, take_back = patched(impit)
    assert [impit.Client().get(*args, **kwargs), impit.get(*args, **kwargs)] == ["got", "got"]
    assert asked == [("impit", url)] * 2
    take_back()
    assert (dict(vars(impit.Client)), impit.get) == before


def test_a_request_of_pyreqwest_has_its_url() -> None:
    pyreqwest = module("pyreqwest.request", ConsumedRequest=Sent)
    asked, _ = patched(pyreqwest)
    request = pyreqwest.ConsumedRequest()
    request.url = URL
    assert (request.send(), asked) == ("sent", [("pyreqwest", URL)])


class Adapter:
    """An adapter of niquests."""

    def send(self, request: Any, stream: bool = False) -> str:
        return "sent"


def test_an_adapter_of_niquests_is_given_a_request() -> None:
    niquests = module("niquests.adapters", HTTPAdapter=Adapter, AsyncHTTPAdapter=Adapter)
    asked, _ = patched(niquests)
    request = Sent()
    request.url = URL  # type: ignore[attr-defined]
    assert niquests.HTTPAdapter().send(request, stream=True) == "sent"
    assert niquests.AsyncHTTPAdapter().send(request=request) == "sent"
    assert asked == [("niquests", URL)] * 2


def test_a_handle_of_curl_cffi_is_asked_for_its_url() -> None:
    handles, multi = module("curl_cffi.curl", Curl=Curl), module("curl_cffi.aio", AsyncCurl=CurlMulti)
    asked, _ = patched(handles)
    added, _ = patched(multi)
    handle = handles.Curl(URL.encode())
    assert (handle.perform(), multi.AsyncCurl().add_handle(curl=handle)) == ("performed", handle)
    assert asked == added == [("curl_cffi", URL)]


class TestPycurl:
    """Attributes of its classes cannot be set, so that subclasses stand for them."""

    @pytest.fixture
    def pycurl(self) -> Any:
        return module("pycurl", Curl=Curl, CurlMulti=CurlMulti)

    def test_each_way_to_perform_is_told(self, pycurl: Any) -> None:
        real, real_multi = pycurl.Curl, pycurl.CurlMulti
        asked, take_back = patched(pycurl)
        handle = pycurl.Curl()
        assert (handle.perform(), handle.perform_rb(), handle.performed) == ("performed", b"performed", 2)
        assert pycurl.CurlMulti().add_handle(handle) is handle
        assert pycurl.CurlMulti().add_handle("no handle") == "no handle"
        assert asked == [("pycurl", URL)] * 3
        take_back()
        assert (pycurl.Curl, pycurl.CurlMulti) == (real, real_multi)

    def test_what_was_made_before_is_an_instance_as_well(self, pycurl: Any) -> None:
        real, before = pycurl.Curl, pycurl.Curl()
        patched(pycurl)

        class Own(pycurl.Curl):  # type: ignore[misc]
            pass

        assert isinstance(before, pycurl.Curl)
        assert issubclass(real, pycurl.Curl)
        assert not isinstance(before, Own)
        assert not issubclass(real, Own)
        assert isinstance(Own(), pycurl.Curl)
