"""Percentiles: how long the slow ones take."""

from __future__ import annotations

from collections.abc import Iterable
from math import floor

METHOD = "linear interpolation (Hyndman and Fan 1996, type 7)"
LEVELS = (50, 90, 95, 99)


def percentile(ordered: list[float], level: float) -> float | None:
    """Return the percentile `level`, 0..100, of values in ascending order, in their unit; None without values.

    Between two values it is interpolated: type 7 of Hyndman and Fan (1996, The American Statistician
    50:361), the default of numpy and R. With n values, those beyond 100 * (n - 1) / n are
    near the largest one, and say as little as that does.

    Raises ValueError for a level outside of 0..100.
    """
    if not 0 <= level <= 100:
        raise ValueError(f"{level} is no percentile; one lies between 0 and 100")
    if not ordered:
        return None
    place = level / 100 * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def percentiles(values: Iterable[float]) -> dict[str, float | None]:
    """Return p50, p90, p95 and p99 of `values`, which need no order; None each without values."""
    ordered = sorted(values)
    return {f"p{level}": percentile(ordered, level) for level in LEVELS}
