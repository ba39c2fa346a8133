"""Fields of the rubric: the types of its settings, and the mappings within it."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from pytest_recall.core.headers import CREDENTIALS
from pytest_recall.core.rate import Rate
from pytest_recall.core.series import k_of_n

Name = Annotated[str, Field(min_length=1)]
Score = Annotated[float, Field(strict=True, ge=0, le=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Allowed = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Some = Annotated[int, Field(strict=True, ge=1)]
# A criterion is a field of what the judge replies.
CriterionName = Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*$", max_length=60)]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


WrittenNames = Annotated[
    tuple[Name, ...],
    BeforeValidator(_listed),
    WithJsonSchema(
        {
            "oneOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "items": {"type": "string", "minLength": 1}},
            ]
        }
    ),
]


def _share(text: str) -> str:
    k_of_n(text)
    return text


KofN = Annotated[
    str, AfterValidator(_share), Field(json_schema_extra={"pattern": "^[1-9][0-9]{0,2}of[1-9][0-9]{0,2}$"})
]


def _are_hosts(hosts: tuple[str, ...]) -> tuple[str, ...]:
    for host in hosts:
        if "/" in host:
            alone = host.partition("://")[2] or host
            raise ValueError(f"`{host}` is no host; write `{alone.partition('/')[0]}`")
    return hosts


Hosts = Annotated[tuple[Name, ...], AfterValidator(_are_hosts)]


def _is_pattern(text: str) -> str:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression ({error})") from None
    if pattern.search("") or pattern.fullmatch("What does a late return cost?"):
        raise ValueError(f"{text!r} fits any text, so that any answer would do; write what differs, such as '\\d+'")
    return text


def _are_headers(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name):
            raise ValueError(f"{name!r} is no name of a header; write one, such as x-tenant")
        if name.lower() in CREDENTIALS:
            raise ValueError(f"`{name}` holds a credential, which is never written down; remove it")
    return names


HeaderNames = Annotated[tuple[Name, ...], AfterValidator(_are_headers)]
Pattern = Annotated[str, AfterValidator(_is_pattern)]

PerMillion = Annotated[float, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Prices(BaseModel):
    """What a model costs, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    input: PerMillion = Field(description="Tokens that are read.")
    output: PerMillion = Field(description="Tokens that are written.")
    cache_read: PerMillion | None = Field(default=None, description="Tokens that the cache had; by default as `input`.")
    cache_write: PerMillion | None = Field(default=None, description="Tokens that it took in; by default as `input`.")


PerMinute = Annotated[int, Field(strict=True, ge=1)]


class RateLimit(BaseModel):
    """What may be asked in a minute."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    requests_per_minute: PerMinute | None = Field(default=None, description="Calls that begin.")
    tokens_per_minute: PerMinute | None = Field(default=None, description="Tokens, read and written together.")

    @model_validator(mode="after")
    def _limits(self) -> RateLimit:
        if self.requests_per_minute is None and self.tokens_per_minute is None:
            raise ValueError("limits nothing; give `requests_per_minute`, `tokens_per_minute` or both")
        return self

    def of(self, workers: int) -> Rate:
        """Return the share of one of so many `workers`; below 1 there is none."""
        requests, tokens = (
            None if limit is None else limit // workers for limit in (self.requests_per_minute, self.tokens_per_minute)
        )
        return Rate(requests, tokens)


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
