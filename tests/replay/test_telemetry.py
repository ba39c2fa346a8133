"""Telemetry is told from calls of an agent by host, by path and by the thread that sends it."""

from __future__ import annotations

import pytest

from pytest_recall.replay.telemetry import EXPORTERS, HOSTS, is_exporter, is_telemetry, is_telemetry_host


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
    assert list(HOSTS) == sorted(set(HOSTS))


def test_an_exporter_is_a_package_and_what_it_holds() -> None:
    assert is_exporter("posthog")
    assert is_exporter("opentelemetry.sdk.trace.export")
    assert not is_exporter("posthogging")
    assert not is_exporter("agents.run")
    assert list(EXPORTERS) == sorted(set(EXPORTERS))
