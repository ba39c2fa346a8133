"""Tell telemetry from calls that an agent makes: known hosts, known paths, and the packages whose threads export it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

HOSTS = (
    "agentops.ai",
    "amplitude.com",
    "api.agno.com",
    "api.confident-ai.com",
    "api.honeycomb.io",
    "api.smith.langchain.com",
    "api.traceloop.com",
    "arize.com",
    "bugsnag.com",
    "cloud.langfuse.com",
    "datadoghq.com",
    "datadoghq.eu",
    "logfire-api.pydantic.dev",
    "logfire-eu.pydantic.dev",
    "logfire-us.pydantic.dev",
    "mixpanel.com",
    "nr-data.net",
    "os-api.agno.com",
    "posthog.com",
    "rollbar.com",
    "scarf.sh",
    "segment.io",
    "sentry.io",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
    "trace.wandb.ai",
)
"""Hosts that take telemetry and answer no model call; those below them as well."""
_PATHS = re.compile(
    r"/(?:"
    r"v1/traces(?:/ingest)?|v1/metrics|v1/logs"  # OTLP/HTTP, and what OpenAI's Agents SDK traces
    r"|api/public/(?:ingestion|otel/v1/traces)"  # Langfuse
    r"|api/\d+/(?:envelope|store)/?"  # Sentry
    r"|runs/(?:batch|multipart)"  # LangSmith
    r"|api/telemetry/.*"  # Hugging Face
    r")\Z"
)
"""Ends of the paths to which telemetry is posted, on any host: a collector may be on this machine."""
EXPORTERS = (
    "agents.tracing",
    "ddtrace",
    "langfuse",
    "langsmith",
    "logfire",
    "opentelemetry",
    "posthog",
    "segment",
    "sentry_sdk",
    "traceloop",
)
"""Packages whose own threads send telemetry and nothing else."""


def is_telemetry(method: str, url: str, hosts: Iterable[str] = ()) -> bool:
    """Return whether a call sends telemetry, by its host, or by what it posts to. `hosts` are more of them."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    return is_telemetry_host(host, port, hosts) or (
        method.upper() in ("POST", "PUT") and _PATHS.search(parts.path) is not None
    )


def is_telemetry_host(host: str, port: int | None = None, hosts: Iterable[str] = ()) -> bool:
    """Return whether a host takes telemetry, or is below one that does; one of `hosts` may name a port."""
    name = host.lower().rstrip(".")
    return f"{name}:{port}" in hosts or any(name == known or name.endswith(f".{known}") for known in (*HOSTS, *hosts))


def is_exporter(module: str) -> bool:
    """Return whether a module is of a package whose threads send telemetry."""
    return module.startswith(_PREFIXES) or module in EXPORTERS


_PREFIXES = tuple(f"{name}." for name in EXPORTERS)
