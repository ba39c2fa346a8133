"""Tell what is at a URL by its host: this machine, an upstream, or a service that takes telemetry."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443}


# Calls go to a few URLs, again and again.
@lru_cache(maxsize=256)
def place_of(url: str) -> tuple[str, int | None]:
    """Return the host and the port of a URL; nothing for what is none, which is for its client to say."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "", parts.port or PORTS.get(parts.scheme)
    except ValueError:
        return "", None


def host_in(pattern: str) -> str:
    """Return the part of a URL or of a pattern for URLs that names the host; without `:*`, as that is any port."""
    return re.split("[/?#]", pattern.partition("://")[2] or pattern)[0].removesuffix(":*")


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


TELEMETRY = (
    "*-intake.*.datadoghq.com",
    "*-intake.datadoghq.com",
    "*-intake.datadoghq.eu",
    "agent.datadoghq.com",
    "agent.datadoghq.eu",
    "api-eu.mixpanel.com",
    "api.agentops.ai",
    "api.agno.com",
    "api.honeycomb.io/1/batch/*",
    "api.honeycomb.io/1/events/*",
    "api.honeycomb.io/v1/*",
    "api.mixpanel.com",
    "api.openai.com/v1/traces/ingest",
    "api.rollbar.com",
    "api.segment.io",
    "api.smith.langchain.com/info",
    "api.smith.langchain.com/otel/*",
    "api.smith.langchain.com/runs*",
    "api.traceloop.com/v1/metrics",
    "api.traceloop.com/v1/traces",
    "api2.amplitude.com",
    "app.phoenix.arize.com/*v1/traces",
    "app.posthog.com/batch*",
    "app.posthog.com/capture*",
    "cloud.langfuse.com/api/public/ingestion",
    "cloud.langfuse.com/api/public/otel/*",
    "collector*.newrelic.com",
    "http-intake.logs.datadoghq.com",
    "http-intake.logs.datadoghq.eu",
    "huggingface.co/api/telemetry/*",
    "i.posthog.com",
    "ingest.de.sentry.io",
    "ingest.sentry.io",
    "ingest.us.sentry.io",
    "localhost:4317",
    "localhost:4318",
    "localhost:8126",
    "logfire-*.pydantic.dev/v1/info",
    "logfire-*.pydantic.dev/v1/logs",
    "logfire-*.pydantic.dev/v1/metrics",
    "logfire-*.pydantic.dev/v1/traces",
    "notify.bugsnag.com",
    "nr-data.net",
    "os-api.agno.com",
    "otel.confident-ai.com",
    "otlp.agentops.ai",
    "otlp.arize.com",
    "otlp.datadoghq.com",
    "scarf.sh",
    "sentry.io/api/*/envelope/",
    "sentry.io/api/*/store/",
    "sessions.bugsnag.com",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
    "trace.wandb.ai/call/end",
    "trace.wandb.ai/call/start",
    "trace.wandb.ai/call/upsert_batch",
)
"""Where telemetry is taken: a host with all that is below it, or what it takes there if it answers other calls as well.
A collector of OpenTelemetry listens at the two ports of this machine that are registered for it, and the agent of
Datadog at its own."""
_AS_IT_STANDS, _LANGSMITH = ("",), ("/info", "/otel/*", "/runs*")
_LANGFUSE = ("/api/public/ingestion", "/api/public/otel/*")
_OTLP = "OTEL_EXPORTER_OTLP"
_SIGNALS = ("LOGS", "METRICS", "TRACES")
VARIABLES: Mapping[str, tuple[str, ...]] = {
    "LANGCHAIN_ENDPOINT": _LANGSMITH,
    "LANGFUSE_BASE_URL": _LANGFUSE,
    "LANGFUSE_HOST": _LANGFUSE,
    "LANGSMITH_ENDPOINT": _LANGSMITH,
    "LOGFIRE_BASE_URL": ("/v1/info", "/v1/logs", "/v1/metrics", "/v1/traces"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("/v1/logs", "/v1/metrics", "/v1/traces"),
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": _AS_IT_STANDS,
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": _AS_IT_STANDS,
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": _AS_IT_STANDS,
    "PHOENIX_COLLECTOR_ENDPOINT": ("/v1/traces",),
    "SENTRY_DSN": ("/api/*/envelope/", "/api/*/store/"),
    "TRACELOOP_BASE_URL": ("/v1/metrics", "/v1/traces"),
}
"""Variables of the environment that say to which URL a package sends its telemetry, with what it asks below that. Those
of OTLP are as its specification has them: https://opentelemetry.io/docs/specs/otel/protocol/exporter/"""


class Agents(NamedTuple):
    """Variables that name where an agent listens that takes metrics or traces.

    Its clients ask this machine where no host is named.
    """

    hosts: tuple[str, ...]
    ports: tuple[str, ...]
    port: int
    """The port that it has by default."""
    answers_http: bool = False
    """Whether it takes nothing but HTTP by that port."""


AGENTS = (
    Agents(
        ("DD_AGENT_HOST", "DD_TRACE_AGENT_HOSTNAME", "DD_TRACE_AGENT_URL"),
        ("DD_AGENT_PORT", "DD_TRACE_AGENT_PORT"),
        8126,
        answers_http=True,
    ),
    Agents(
        ("DD_AGENT_HOST", "DD_DOGSTATSD_HOST", "DD_DOGSTATSD_URL", "DD_TELEMETRY_HOST"),
        ("DD_AGENT_PORT", "DD_DOGSTATSD_PORT", "DD_TELEMETRY_PORT"),
        8125,
    ),
    Agents(("STATSD_HOST",), ("STATSD_PORT",), 8125),
)
"""The agents of Datadog, and servers of statsd, as ddtrace, datadog and statsd find them. A server that answers HTTP at
the port of statsd is another one."""


_HTTP_AGENTS = tuple(agents for agents in AGENTS if agents.answers_http)
TELEMETRY_VARIABLES = frozenset(VARIABLES).union(*(agents.hosts + agents.ports for agents in _HTTP_AGENTS))
"""The variables that `telemetry_of` looks at."""


def is_path_of_otlp(url: str) -> bool:
    """Return whether a URL ends as those do to which OTLP is sent, which says nothing of what is there."""
    return without_query(url).endswith(VARIABLES[f"{_OTLP}_ENDPOINT"])


def telemetry_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return where calls of HTTP send telemetry by these variables, each as `host:port` and a path.

    An agent takes nothing else, so that it has none.
    """
    places = []
    for variable, paths in VARIABLES.items():
        url = _url_of(environment.get(variable, ""))
        host, port = place_of(url)
        if host and port:
            base = urlsplit(url).path
            if variable == "SENTRY_DSN":
                base = base.rstrip("/").rpartition("/")[0]  # Its last part is the project.
            places += [f"{host}:{port}{base.rstrip('/') + path if path else base or '/'}" for path in paths]
    return (*places, *(place for agents in _HTTP_AGENTS for place in _places_of(agents, environment)))


def sockets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return where telemetry is sent by what is no HTTP, each as `host:port`: to `AGENTS`, and by gRPC."""
    places = {place: None for agents in AGENTS for place in _places_of(agents, environment)}
    default = environment.get(f"{_OTLP}_PROTOCOL", "")
    protocols = {signal: environment.get(f"{_OTLP}_{signal}_PROTOCOL") or default for signal in _SIGNALS}
    by_grpc = {signal for signal, protocol in protocols.items() if not protocol.startswith("http/")}
    for variable in (
        *(f"{_OTLP}_{signal}_ENDPOINT" for signal in by_grpc),
        *([f"{_OTLP}_ENDPOINT"] if by_grpc else ()),
    ):
        host, port = place_of(_url_of(environment.get(variable, "")))
        places |= {f"{host}:{port}": None} if host and port else {}
    phoenix, _ = place_of(_url_of(environment.get("PHOENIX_COLLECTOR_ENDPOINT", "")))
    places |= {f"{phoenix}:{environment.get('PHOENIX_GRPC_PORT') or 4317}": None} if phoenix else {}
    return tuple(places)


def _places_of(agents: Agents, environment: Mapping[str, str]) -> list[str]:
    named = [value for name in agents.hosts if (value := environment.get(name))]
    ports = [agents.port, *(value for name in agents.ports if (value := environment.get(name)))]
    places = [place_of(_url_of(value)) for value in named or ["localhost"]]
    return [f"{host}:{own or port}" for host, own in places for port in ports if host]


def _url_of(value: str) -> str:
    """Return a URL, which may be without a scheme, as one that says where its host is."""
    return value if "://" in value or not value else f"//{value}"


def is_telemetry(url: str, more: tuple[str, ...] = ()) -> bool:
    """Return whether what is at a URL takes telemetry, as `TELEMETRY` says and `more` in the same form."""
    return _is_telemetry(without_query(url), more)


@lru_cache(maxsize=1024)
def _is_telemetry(plain: str, more: tuple[str, ...]) -> bool:
    host, port = place_of(plain)
    path = urlsplit(plain).path if host else ""
    return any(_is_at(pattern, host, port, path) for pattern in (*TELEMETRY, *more))


def is_telemetry_host(host: str, port: int | None = None, more: tuple[str, ...] = ()) -> bool:
    """Return whether a host takes telemetry and nothing else, whatever it is asked."""
    return any(_is_at(pattern, host, port, None) for pattern in (*TELEMETRY, *more))


def _is_at(pattern: str, host: str, port: int | None, path: str | None) -> bool:
    """Return whether a place is the one of a `pattern`, or below it; no `path` is one that is not known."""
    host_pattern, slash, path_pattern = pattern.partition("/")
    if slash and (path is None or not fnmatchcase(path, f"/{path_pattern}")):
        return False
    names = names_of(host.rstrip("."))
    return any(_is_host(one, host_pattern) for name in names for one in (name, f"{name}:{port}"))


def _is_host(name: str, pattern: str) -> bool:
    if set("*?[").isdisjoint(pattern):  # As nearly all of them, for which nothing has to be compiled.
        return name == pattern or name.endswith(f".{pattern}")
    return fnmatchcase(name, pattern) or fnmatchcase(name, f"*.{pattern}")
