"""Tell what is at a URL by its host: this machine, an upstream, or a service that takes telemetry."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
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
    return f"{name}:{port}" in hosts or any(
        name == known or name.endswith(f".{known}") for known in (*TELEMETRY_HOSTS, *hosts)
    )


def is_exporter(module: str) -> bool:
    """Return whether a module is of a package whose threads send telemetry."""
    return module.startswith(_PREFIXES) or module in EXPORTERS


_PREFIXES = tuple(f"{name}." for name in EXPORTERS)
