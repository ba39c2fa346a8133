"""Whether a host is this machine, and what is telemetry."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.hosts import (
    ENDPOINTS,
    TELEMETRY_HOSTS,
    is_address,
    is_telemetry_host,
    is_this_machine,
    names_of,
    place_of,
    telemetry_endpoints,
    without_query,
)

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


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("us.i.posthog.com", 443),
        ("SENTRY.IO.", 443),
        ("o4507.ingest.us.sentry.io", 443),
        ("localhost", 4318),
        ("127.0.0.1", 4317),
        ("::1", 4318),
    ],
)
def test_these_take_telemetry(host: str, port: int) -> None:
    assert is_telemetry_host(host, port)


@pytest.mark.parametrize(
    ("host", "port"),
    [("api.openai.com", 443), ("localhost", 1984), ("notsentry.io", 443), ("sentry.io.example", 443), ("", None)],
)
def test_others_do_not(host: str, port: int | None) -> None:
    assert not is_telemetry_host(host, port)


def test_a_rubric_names_more_by_host_or_by_port() -> None:
    assert is_telemetry_host("eu.metrics.example", 443, ["metrics.example"])
    assert is_telemetry_host("127.0.0.1", 99, ["127.0.0.1:99"])
    assert not is_telemetry_host("127.0.0.1", 98, ["127.0.0.1:99"])


def test_the_environment_says_where_telemetry_is_sent() -> None:
    environment = {
        "LANGFUSE_HOST": "http://localhost:3000",
        "OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317",
        "SENTRY_DSN": "https://key@o1.example/2",
        "LANGSMITH_ENDPOINT": "",
        "PATH": "http://elsewhere",
    }
    assert telemetry_endpoints(environment) == ["localhost:3000", "collector:4317", "o1.example:443"]


def test_the_lists_are_in_order() -> None:
    assert list(TELEMETRY_HOSTS) == sorted(set(TELEMETRY_HOSTS))
    assert list(ENDPOINTS) == sorted(set(ENDPOINTS))
