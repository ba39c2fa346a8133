"""Words for counts, shares and lists in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Return the first `limit` names, and how many there are more."""
    every = list(names)
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more


def percent(share: float) -> str:
    """Return a share in 0..1 as a percentage with one decimal."""
    return f"{100 * share:.1f} %"


def p_value(p: float) -> str:
    """Return a p-value with two figures."""
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def plural(count: int, noun: str) -> str:
    """Return the count with its noun."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
