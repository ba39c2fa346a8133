"""Whether a host is this machine, and what is telemetry."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recall.replay.hosts import (
    TELEMETRY,
    TELEMETRY_VARIABLES,
    VARIABLES,
    host_in,
    is_address,
    is_telemetry,
    is_telemetry_host,
    is_this_machine,
    names_of,
    place_of,
    sockets_of,
    telemetry_of,
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
    ("pattern", "host"),
    [
        ("http://a.com:80/v1", "a.com:80"),
        ("http://127.0.0.1:*/v1", "127.0.0.1"),
        ("a.com:*", "a.com"),
        ("https://a.com?x=/", "a.com"),
        ("http://[::1]:8#x", "[::1]:8"),
        ("a.com/*", "a.com"),
        ("a.com", "a.com"),
        ("/v1", ""),
    ],
)
def test_the_host_in_a_pattern(pattern: str, host: str) -> None:
    assert host_in(pattern) == host


@pytest.mark.parametrize(
    "url",
    [
        "https://us.i.posthog.com/batch/",
        "https://O4507.ingest.us.SENTRY.io./api/1/envelope/",
        "https://sentry.io/api/1/store/",
        "http://localhost:4318/v1/logs",
        "http://127.0.0.1:4317/",
        "http://[::1]:4318/v1/traces",
        "https://api.openai.com/v1/traces/ingest",
        "https://eu.api.smith.langchain.com/runs/batch",
        "https://us.cloud.langfuse.com/api/public/otel/v1/traces",
        "https://llmobs-intake.us3.datadoghq.com/api/v2/llmobs",
    ],
)
def test_telemetry_is_taken_here(url: str) -> None:
    assert is_telemetry(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.openai.com/v1/chat/completions",
        "http://localhost:1984/v1/logs",
        "https://noti.posthog.com/",
        "https://i.posthog.com.example/",
        "https://logs.example/v1/logs",
        # These hosts answer what an agent asks as well: prompts, issues, logs.
        "https://api.smith.langchain.com/commits/owner/prompt/latest",
        "https://cloud.langfuse.com/api/public/v2/prompts/greeting",
        "https://sentry.io/api/0/issues/",
        "https://api.datadoghq.com/api/v2/logs/events/search",
        "",
    ],
)
def test_and_not_here(url: str) -> None:
    assert not is_telemetry(url)


def test_a_host_that_takes_more_is_not_known_by_itself() -> None:
    assert is_telemetry_host("us.i.posthog.com", 443)
    assert is_telemetry_host("127.0.0.1", 4318)
    assert not is_telemetry_host("api.smith.langchain.com", 443)


def test_a_rubric_names_more_by_host_or_by_port() -> None:
    assert is_telemetry_host("eu.metrics.example", 443, ("metrics.example",))
    assert is_telemetry_host("127.0.0.1", 99, ("127.0.0.1:99",))
    assert not is_telemetry_host("127.0.0.1", 98, ("127.0.0.1:99",))


def test_the_environment_says_where_telemetry_is_sent() -> None:
    environment = {
        "LANGFUSE_HOST": "http://localhost:3000/traces/",
        "PHOENIX_COLLECTOR_ENDPOINT": "https://phoenix.example",
        "SENTRY_DSN": "https://key@o1.example/2",
        "LANGSMITH_ENDPOINT": "",
        "PATH": "http://elsewhere",
    }
    places = telemetry_of(environment)
    assert is_telemetry("http://127.0.0.1:3000/traces/api/public/ingestion", places)
    assert not is_telemetry("http://127.0.0.1:3000/traces/api/public/v2/prompts/greeting", places)
    assert is_telemetry("https://phoenix.example/v1/traces", places)
    assert not is_telemetry("https://phoenix.example/v1/prompts", places)
    assert is_telemetry("https://o1.example/api/2/envelope/", places)
    assert not is_telemetry("https://o1.example/api/0/issues/", places)
    assert not is_telemetry("http://elsewhere/", places)


@pytest.mark.parametrize(
    ("endpoint", "taken", "not_taken"),
    [
        (
            "ENDPOINT=http://c:4318",
            ["http://c:4318/v1/traces", "http://c:4318/v1/logs"],
            ["http://c:4318/", "http://c/"],
        ),
        ("ENDPOINT=http://c/a/", ["http://c/a/v1/metrics", "http://c:80/a/v1/logs"], ["http://c/v1/metrics"]),
        ("ENDPOINT=https://c", ["https://c/v1/logs"], ["http://c/v1/logs", "https://c/v1/chat/completions"]),
        ("TRACES_ENDPOINT=http://c/a", ["http://c/a"], ["http://c/a/v1/traces", "http://c/v1/traces", "http://c/a/"]),
        ("LOGS_ENDPOINT=http://c/a/", ["http://c/a/"], ["http://c/a", "http://c/a/v1/logs"]),
        ("METRICS_ENDPOINT=http://c", ["http://c/", "http://c"], ["http://c/v1/metrics"]),
        ("ENDPOINT=", [], ["http://c/v1/logs"]),
    ],
)
def test_calls_of_otlp_go_to_the_urls_of_its_specification(
    endpoint: str, taken: list[str], not_taken: list[str]
) -> None:
    name, _, value = endpoint.partition("=")
    places = telemetry_of({f"OTEL_EXPORTER_OTLP_{name}": value})
    assert [url for url in (*taken, *not_taken) if is_telemetry(url, places)] == taken


@pytest.mark.parametrize(
    ("environment", "places"),
    [
        ({"ENDPOINT": "collector:4317"}, {"collector:4317"}),
        ({"ENDPOINT": "https://c/a", "PROTOCOL": "grpc"}, {"c:443"}),
        ({"ENDPOINT": "http://c", "PROTOCOL": "http/protobuf"}, set()),
        ({"ENDPOINT": "http://c", "PROTOCOL": "http/json", "LOGS_PROTOCOL": "grpc"}, {"c:80"}),
        ({"LOGS_ENDPOINT": "http://c", "TRACES_ENDPOINT": "http://t", "TRACES_PROTOCOL": "http/protobuf"}, {"c:80"}),
        ({"LOGS_ENDPOINT": "http://c", "PROTOCOL": "http/protobuf"}, set()),
        ({f"{signal}_PROTOCOL": "http/json" for signal in ("LOGS", "METRICS", "TRACES")} | {"ENDPOINT": "c:1"}, set()),
    ],
)
def test_sockets_of_otlp_are_those_of_grpc(environment: dict[str, str], places: set[str]) -> None:
    named = {f"OTEL_EXPORTER_OTLP_{name}": value for name, value in environment.items()}
    assert {*sockets_of(named)} - {*sockets_of({})} == places


def test_sockets_of_phoenix_are_at_the_port_of_its_collector() -> None:
    named = {"PHOENIX_COLLECTOR_ENDPOINT": "https://phoenix.example:6006"}
    assert {*sockets_of(named)} - {*sockets_of({})} == {"phoenix.example:4317"}
    assert "phoenix.example:99" in sockets_of({**named, "PHOENIX_GRPC_PORT": "99"})


@pytest.mark.parametrize(
    ("environment", "places"),
    [
        ({}, ("localhost:8126", "localhost:8125")),
        ({"STATSD_HOST": "stats", "STATSD_PORT": "99"}, ("localhost:8126", "localhost:8125", "stats:8125", "stats:99")),
        ({"DD_AGENT_HOST": "agent"}, ("agent:8126", "agent:8125", "localhost:8125")),
        ({"DD_TRACE_AGENT_URL": "http://agent:99"}, ("agent:99", "localhost:8125")),
        ({"DD_DOGSTATSD_URL": "udp://dog:99", "DD_AGENT_PORT": ""}, ("localhost:8126", "dog:99", "localhost:8125")),
        ({"DD_DOGSTATSD_URL": "unix:///var/run/dsd.socket"}, ("localhost:8126", "localhost:8125")),
    ],
)
def test_metrics_are_sent_to_agents(environment: dict[str, str], places: tuple[str, ...]) -> None:
    assert sockets_of(environment) == places


def test_agents_of_traces_answer_http() -> None:
    named = {"DD_AGENT_HOST": "agent", "DD_TRACE_AGENT_PORT": "99", "STATSD_HOST": "stats"}
    assert telemetry_of(named) == ("agent:8126", "agent:99")
    assert is_telemetry("http://agent:99/v0.5/traces", telemetry_of(named))


def test_what_answers_http_at_the_port_of_statsd_is_asked() -> None:
    assert not is_telemetry("http://localhost:8125/v1/chat/completions")
    assert is_telemetry("http://127.0.0.1:8126/v0.5/traces")


def test_the_lists_are_in_order() -> None:
    assert list(TELEMETRY) == sorted(set(TELEMETRY))
    assert list(VARIABLES) == sorted(VARIABLES)


def test_the_variables_that_are_looked_at_are_known() -> None:
    class Variables(dict[str, str]):
        def get(self, name: str, default: str = "") -> str:  # type: ignore[override]
            self[name] = ""
            return default

    variables = Variables()
    telemetry_of(variables)
    assert set(variables) == set(TELEMETRY_VARIABLES)
