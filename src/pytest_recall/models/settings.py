"""Define the settings of the rubric for models: prices, batches and their limits."""

from __future__ import annotations

import re
from typing import Annotated, Literal

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


_NO_HOST = re.compile(r"[][\s/*?#@,;]")
_QUERY = re.compile(r"\?[^?=/]*=|#")


def _check_host(host: str) -> None:
    if not _is_host(host):
        meant = re.sub(r"[][]", "", host_in(host))
        right = f"`{meant}`" if _is_host(meant) else "one like `example.com` or `example.com:8080`"
        raise ValueError(f"`{host}` is not a host; write {right}")


def _is_host(text: str) -> bool:
    """Whether this is a host, with or without a port, as calls are compared with it."""
    name, colon, port = text.rpartition(":")
    is_port = bool(name) and port.isdecimal() and 0 < int(port) < 65_536
    # What has more than one colon is an address of IPv6.
    return bool(text) and not _NO_HOST.search(text) and (not colon or ":" in name or is_port)


def _check_pattern(pattern: str) -> None:
    method, space, url = pattern.partition(" ")
    if not space:
        method, url = "", pattern
    if not url.lower().startswith(("http://", "https://", "*://")) or " " in url or (space and not method.isalpha()):
        right = f"`https://{pattern.lstrip('/')}`" if not space else "one such as `GET https://example.com/status*`"
        raise ValueError(f"`{pattern}` is not the pattern of a URL; write {right}")
    if _QUERY.search(url):
        plain = f"{method}{space}{_QUERY.split(url)[0]}"
        raise ValueError(f"`{pattern}` has a query, and URLs are compared without theirs; write `{plain}`")


CallWay = Literal["ignore", "telemetry", "batch", "repeatable"]
"""What is other about a call than that it is recorded and replayed."""


def _fit_their_ways(calls: dict[str, CallWay]) -> dict[str, CallWay]:
    for call, way in calls.items():
        if way == "repeatable":
            _check_pattern(call)
        else:
            _check_host(call)
    return calls


Calls = Annotated[dict[Name, CallWay], AfterValidator(_fit_their_ways)]
"""What calls are like, by host, or by a pattern of URLs for those that are repeatable."""

PerMillion = Annotated[float, Field(ge=0)]
