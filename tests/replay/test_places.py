from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.places import is_address, is_this_machine, names_of, place_of, without_query

HERE = ("localhost", "LOCALHOST", "api.localhost", "127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::")
ELSEWHERE = ("", "example.com", "127.example.com", "localhost.example.com", "mylocalhost", "10.0.0.1", "fe80::1%eth0")


@pytest.mark.parametrize("host", HERE)
def test_this_machine(host: str) -> None:
    assert is_this_machine(host)
    assert names_of(host)[-1] == "localhost"


@pytest.mark.parametrize("host", ELSEWHERE)
def test_another_one(host: str) -> None:
    assert not is_this_machine(host)
    assert names_of(host) == (host,)


@given(st.ip_addresses())
def test_an_address_of_loopback_is_here(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert is_address(str(address))
    if address.is_loopback:
        assert is_this_machine(str(address))
        assert names_of(str(address)) == (str(address), "localhost")


@given(st.text())
def test_any_text_is_an_answer(text: str) -> None:
    assert isinstance(is_this_machine(text), bool)
    assert isinstance(place_of(text), tuple)
    assert isinstance(without_query(text), str)


@pytest.mark.parametrize(
    ("url", "place", "plain"),
    [
        ("http://a.com/x?y=1", ("a.com", 80), "http://a.com/x"),
        ("https://u:p@A.com:99?y", ("a.com", 99), "https://A.com:99/"),
        ("grpc://a.com", ("a.com", None), "grpc://a.com"),
        ("http://[::1]:8/", ("::1", 8), "http://[::1]:8/"),
        ("http://[::1", ("", None), ""),
    ],
)
def test_of_a_url(url: str, place: tuple[str, int | None], plain: str) -> None:
    assert place_of(url) == place
    assert without_query(url) == plain
