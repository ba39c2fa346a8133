"""Whether a host is this machine, and what is telemetry."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.hosts import (
    EXPORTERS,
    TELEMETRY_HOSTS,
    is_address,
    is_exporter,
    is_telemetry,
    is_telemetry_host,
    is_this_machine,
    names_of,
    place_of,
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
    "url",
    [
        "https://api.openai.com/v1/traces/ingest",
        "https://us.i.posthog.com/batch/",
        "https://o4507.ingest.us.sentry.io/api/45/envelope/",
        "http://127.0.0.1:3000/api/45/envelope/",
        "https://api.smith.langchain.com/runs/multipart",
        "http://localhost:1984/runs/batch",
        "http://localhost:4318/v1/traces",
        "https://telemetry.crewai.com:4319/v1/traces",
        "https://os-api.agno.com/telemetry/runs",
        "https://cloud.langfuse.com/api/public/otel/v1/traces",
        "https://huggingface.co/api/telemetry/smolagents",
    ],
)
def test_what_is_posted_there_is_telemetry(url: str) -> None:
    assert is_telemetry("POST", url)


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("POST", "https://api.openai.com/v1/chat/completions"),
        ("GET", "http://localhost:4318/v1/traces"),
        ("POST", "http://localhost:4318/v1/traces/7/spans"),
        ("POST", "https://notsentry.io/ask"),
        ("POST", "https://sentry.io.example/ask"),
        ("POST", "https://huggingface.co/api/models"),
        ("POST", "http://[broken/v1/traces"),
        ("POST", "http://localhost:seven/v1/traces"),
    ],
)
def test_other_calls_are_not(method: str, url: str) -> None:
    assert not is_telemetry(method, url)


def test_a_rubric_names_more_by_host_or_by_port() -> None:
    assert is_telemetry("POST", "https://eu.metrics.example/in", ["metrics.example"])
    assert is_telemetry("POST", "http://127.0.0.1:99/in", ["127.0.0.1:99"])
    assert not is_telemetry("POST", "http://127.0.0.1:98/in", ["127.0.0.1:99"])


def test_hosts_are_compared_by_their_names() -> None:
    assert is_telemetry_host("SENTRY.IO.")
    assert not is_telemetry_host("")
    assert list(TELEMETRY_HOSTS) == sorted(set(TELEMETRY_HOSTS))


def test_an_exporter_is_a_package_and_what_it_holds() -> None:
    assert is_exporter("posthog")
    assert is_exporter("opentelemetry.sdk.trace.export")
    assert not is_exporter("posthogging")
    assert not is_exporter("agents.run")
    assert list(EXPORTERS) == sorted(set(EXPORTERS))
