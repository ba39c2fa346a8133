"""Tell what is at a URL by its host: this machine, an upstream, or a service that takes telemetry."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}


def place_of(url: str) -> tuple[str, int | None]:
    """Return the host and the port of a URL; nothing for what is none, which is for its client to say."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return "", None


def without_query(url: str) -> str:
    """Return the part of a URL that names what is asked, without credentials; empty for what is no URL."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    path = parts.path or ("/" if parts.scheme in ("http", "https") else "")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}"


def is_address(host: str) -> bool:
    """Return whether a host is given by its address, with or without the zone of one."""
    return _address(host) is not None


def is_this_machine(host: str) -> bool:
    """Return whether a host is this machine for certain: `localhost`, a name below it, or an address of loopback.

    An address that stands for all of the machine's own, such as `0.0.0.0`, connects to it as well.
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    address = _address(name)
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return address is not None and (address.is_loopback or address.is_unspecified)


def names_of(host: str) -> tuple[str, ...]:
    """Return the names by which a host is found in a list of hosts: its own, then `localhost` for this machine."""
    name = host.lower()
    return (name, "localhost") if name != "localhost" and is_this_machine(name) else (name,)


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


TELEMETRY_HOSTS = (
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
    "localhost:4317",
    "localhost:4318",
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
"""Hosts that take telemetry and answer no model call; those below them as well. A collector of OpenTelemetry listens at
the two ports of this machine that are registered for it."""
ENDPOINTS = (
    "DD_TRACE_AGENT_URL",
    "LANGCHAIN_ENDPOINT",
    "LANGFUSE_BASE_URL",
    "LANGFUSE_HOST",
    "LANGSMITH_ENDPOINT",
    "LOGFIRE_BASE_URL",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "PHOENIX_COLLECTOR_ENDPOINT",
    "SENTRY_DSN",
    "TRACELOOP_BASE_URL",
)
"""Variables of the environment that say where a package sends its telemetry, as a URL or as `host:port`."""


def telemetry_endpoints(environment: Mapping[str, str]) -> list[str]:
    """Return where telemetry is sent by these variables, each as `host:port`."""
    values = (environment[name] for name in ENDPOINTS if environment.get(name))
    places = (place_of(value if "://" in value else f"//{value}") for value in values)
    return [f"{host}:{port}" for host, port in places if host and port]


def is_telemetry_host(host: str, port: int | None = None, hosts: Iterable[str] = ()) -> bool:
    """Return whether a host takes telemetry, or is below one that does; one of `hosts` may name a port."""
    known = (*TELEMETRY_HOSTS, *hosts)
    for name in names_of(host.rstrip(".")):
        if f"{name}:{port}" in known or any(name == one or name.endswith(f".{one}") for one in known):
            return True
    return False
