"""Add up tokens and cost of a memory's own models, by ingest and question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import NamedTuple


class ModelUsage(NamedTuple):
    """What the calls of a memory's models took; what is not known is None."""

    calls: float | None = None
    """How many there were; None where they were not listened to."""
    read: float | None = None
    """The tokens that the models read."""
    written: float | None = None
    """The tokens that the models wrote."""
    usd: float | None = None
    """US dollars at list price."""

    @classmethod
    def of(cls, usage: Mapping[str, float], work: str) -> ModelUsage:
        """Return what the usage of an answer says of what the memory did: `memory_store` or `memory_recall`."""
        return cls(*(usage.get(f"{work}_{name}") for name in ("calls", "input_tokens", "output_tokens", "usd")))

    def per(self, count: int) -> ModelUsage:
        """Return the mean over so many, of which this is the sum."""
        return ModelUsage(*(None if one is None or not count else one / count for one in self))


def together(usages: Iterable[ModelUsage]) -> ModelUsage:
    """Return the sum. Where a call was heard at all, what has made none has taken nothing.

    Else it is not known whether there were calls that could not be heard.
    """
    every = list(usages)
    calls = _sum(one.calls for one in every)
    if not calls:
        return ModelUsage(calls)
    made = [one for one in every if one.calls]
    return ModelUsage(calls, *(_sum(getattr(one, name) for one in made) for name in ("read", "written", "usd")))


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    known = [one for one in every if one is not None]
    return fsum(known) if known and len(known) == len(every) else None
