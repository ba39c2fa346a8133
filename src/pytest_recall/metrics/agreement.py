"""Measure the agreement of two raters: counts, percent agreement, and Cohen's kappa with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from math import sqrt
from typing import Literal, NamedTuple, TypeVar

from pytest_recall.metrics.intervals import Interval, critical, wilson

T = TypeVar("T", bound=Hashable)
Weights = Literal["none", "linear", "quadratic"]


class Confusion(NamedTuple):
    """A judge compared with people: how often each verdict was given, and agreed, over the answers that both judged."""

    right_passes: int = 0
    false_passes: int = 0
    right_fails: int = 0
    false_fails: int = 0

    @property
    def n(self) -> int:
        """How many answers both judged."""
        return sum(self)

    @property
    def error(self) -> float:
        """How much higher the judge's pass rate is than the people's, -1..1; 0 without answers."""
        return (self.false_passes - self.false_fails) / self.n if self.n else 0.0


class Kappa(NamedTuple):
    """Cohen's kappa, -1..1, and its interval; None where a rater always said the same, which shows no spread."""

    value: float
    interval: Interval | None


def percent_agreement(pairs: Sequence[tuple[T, T]]) -> float | None:
    """Return the share of items, 0..1, on which both raters said the same; None without items."""
    return sum(first == second for first, second in pairs) / len(pairs) if pairs else None


def kappa(
    pairs: Sequence[tuple[T, T]],
    scale: Sequence[T] | None = None,
    weights: Weights = "none",
    confidence: float = 0.95,
) -> Kappa | None:
    """Return Cohen's kappa of `pairs`: for each item what the first rater said, and the second.

    `scale` holds the categories; weights take them in this order, as equally spaced, so that
    the distance of two is their distance in the scale, or its square. Without weights it
    may be left out.

    Kappa (Cohen 1960, Educational and Psychological Measurement 20:37; weighted 1968,
    Psychological Bulletin 70:213) with the large-sample standard error of Fleiss, Cohen and
    Everitt (1969, Psychological Bulletin 72:323). That error is 0 at kappa = 1, whatever the
    number of items; there the lower bound is what kappa would be if the raters disagreed,
    as far as they can, on as many items as the Wilson interval of their agreement allows.

    None where kappa is undefined: without items, or if both raters always said the same one
    thing. Raises ValueError for a rating outside of the scale, or weights without a scale.
    """
    if weights != "none" and scale is None:
        raise ValueError("weights need the scale: the categories in their order")
    seen = dict.fromkeys(rating for pair in pairs for rating in pair)
    places = {category: place for place, category in enumerate(seen if scale is None else scale)}
    if strange := [rating for rating in seen if rating not in places]:
        raise ValueError(f"{strange[0]!r} is not in the scale")
    if not pairs or len(seen) == 1:
        return None
    n, size = len(pairs), len(places)
    cells = {cell: count / n for cell, count in Counter((places[a], places[b]) for a, b in pairs).items()}
    by_first, by_second = (Counter(places[pair[rater]] for pair in pairs) for rater in (0, 1))
    rows, columns = [by_first[i] / n for i in range(size)], [by_second[j] / n for j in range(size)]
    same = [[_weight(i, j, size, weights) for j in range(size)] for i in range(size)]
    expected = sum(same[i][j] * rows[i] * columns[j] for i in range(size) for j in range(size))
    observed = sum(same[i][j] * share for (i, j), share in cells.items())
    if all(i == j for i, j in cells):
        within = wilson(n, n, confidence)
        assert within is not None
        return Kappa(1.0, (max(-1.0, 1 - (1 - within[0]) / (1 - expected)), 1.0))
    value = (observed - expected) / (1 - expected)
    if 1.0 in (max(rows), max(columns)):
        return Kappa(value, None)
    # Fleiss, Cohen and Everitt: the mean weight of each category, seen from the other rater.
    of_row = [sum(same[i][j] * columns[j] for j in range(size)) for i in range(size)]
    of_column = [sum(same[i][j] * rows[i] for i in range(size)) for j in range(size)]
    spread = sum(
        share * (same[i][j] - (of_row[i] + of_column[j]) * (1 - value)) ** 2 for (i, j), share in cells.items()
    )
    variance = (spread - (value - expected * (1 - value)) ** 2) / (n * (1 - expected) ** 2)
    half = critical(confidence) * sqrt(max(variance, 0.0))
    return Kappa(value, (max(-1.0, value - half), min(1.0, value + half)))


def _weight(i: int, j: int, size: int, weights: Weights) -> float:
    """Return how far two places of a scale agree: 1 for the same one, 0 for its two ends."""
    if weights == "none":
        return float(i == j)
    distance = abs(i - j) / max(size - 1, 1)
    return 1 - (distance if weights == "linear" else distance * distance)
