"""Define the settings of the rubric for models: prices, batches and their limits."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
)

from pytest_recall.files.validation import Name
from pytest_recall.replay.hosts import host_in


class Prices(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    input: PerMillion = Field(description="Tokens that are read.")
    output: PerMillion = Field(description="Tokens that are written.")
    cache_read: PerMillion | None = Field(default=None, description="Tokens that the cache had; by default as `input`.")
    cache_write: PerMillion | None = Field(default=None, description="Tokens that it took in; by default as `input`.")


class Batching(BaseModel):
    """How calls go through the batch APIs of the providers, with `--batch`. Times are seconds."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    hosts: Hosts = Field(
        default=(), description="Hosts with a batch API beside those of OpenAI and Anthropic: `host` or `host:port`."
    )
    quiet: Seconds = Field(default=5.0, description="A batch is sent when no call has joined it for so long.")
    poll: Seconds = Field(default=30.0, description="Between two looks at a batch that has not ended.")
    wait: Seconds = Field(
        default=86_400.0, description="So long a call waits for its batch; then the case is an error."
    )
    requests: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Calls in a batch at most; by default what the provider allows."
    )
    megabytes: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = Field(
        default=None, description="Megabytes of a batch at most; by default what the provider allows."
    )


_NO_HOST = re.compile(r"[][\s/*?#@,;]")
_QUERY = re.compile(r"\?[^?=/]*=|#")


def _are_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        if not _is_host(host):
            meant = re.sub(r"[][]", "", host_in(host))
            right = f"`{meant}`" if _is_host(meant) else "one like `example.com` or `example.com:8080`"
            raise ValueError(f"`{host}` is not a host; write {right}")
    return hosts


def _is_host(text: str) -> bool:
    """Whether this is a host, with or without a port, as calls are compared with it."""
    name, colon, port = text.rpartition(":")
    is_port = bool(name) and port.isdecimal() and 0 < int(port) < 65_536
    # What has more than one colon is an address of IPv6.
    return bool(text) and not _NO_HOST.search(text) and (not colon or ":" in name or is_port)


def _are_calls(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        method, space, url = pattern.partition(" ")
        if not space:
            method, url = "", pattern
        if (
            not url.lower().startswith(("http://", "https://", "*://"))
            or " " in url
            or (space and not method.isalpha())
        ):
            right = f"`https://{pattern.lstrip('/')}`" if not space else "one such as `GET https://example.com/status*`"
            raise ValueError(f"`{pattern}` is not the pattern of a URL; write {right}")
        if _QUERY.search(url):
            plain = f"{method}{space}{_QUERY.split(url)[0]}"
            raise ValueError(f"`{pattern}` has a query, and URLs are compared without theirs; write `{plain}`")
    return patterns


CallPatterns = Annotated[tuple[Name, ...], AfterValidator(_are_calls)]
Hosts = Annotated[tuple[Name, ...], AfterValidator(_are_hosts)]

PerMillion = Annotated[float, Field(ge=0)]

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
