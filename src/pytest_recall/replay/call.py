"""Define a call: one upstream call as a trial keeps it, with what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from pytest_recall.files.coerce import typed

Kind = Literal["agent", "judge", "worker"]
"""Who asks: the session under test, a judge of its answers, or work that the agent does in the background."""
KINDS: tuple[Kind, ...] = get_args(Kind)
Way = Literal["cassette", "live", "forbidden"]
"""What a kind of call does: goes by the cassette, always over the network, or not at all."""


BATCHED = 0.5
"""What a call through a batch API costs, as a share of its list price: OpenAI and Anthropic bill half."""


class Tokens(NamedTuple):
    """Tokens by kind, each counted once: `input` is without what the cache served or took in.

    None is unknown, which is not zero.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class Call(NamedTuple):
    """One upstream call. `source` is `live` or `replayed`; `cost` is in US dollars, None if unknown.

    `cost` is what the call costs at list price when it is live, whether it was or not. One that was
    `batched` went through a provider's batch API, and cost `BATCHED` of that. `trouble` says how a call ended
    badly, such as `http-500` or `cut-off`; one that was `retried` was made again, and then ended well.
    """

    kind: str
    source: str
    model: str | None = None
    provider: str | None = None
    tokens: Tokens | None = None
    cost: float | None = None
    seconds: float = 0.0
    batched: bool = False
    trouble: str = ""
    retried: bool = False

    @property
    def listed(self) -> float | None:
        """What the call costs at list price when it is made directly."""
        return self.cost / BATCHED if self.batched and self.cost is not None else self.cost

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON types; what is unknown is left out."""
        plain = {name: value for name, value in self._asdict().items() if value is not None}
        for name in ("batched", "trouble", "retried"):
            if not plain[name]:
                del plain[name]
        if self.tokens is not None:
            plain["tokens"] = {name: count for name, count in self.tokens._asdict().items() if count is not None}
        return plain

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Call:
        """Return the call that `to_json` gave; raises KeyError, TypeError or ValueError."""
        tokens = plain.get("tokens")
        return cls(**typed(cls, plain), tokens=None if tokens is None else Tokens(**typed(Tokens, tokens)))
