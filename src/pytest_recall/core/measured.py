"""Measured: the fold over retrievals, from their values to means by metric and by category."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import NamedTuple

from pytest_recall.core.errors import RecallError
from pytest_recall.core.measure import METRICS, USUAL, Value, measure
from pytest_recall.core.retrieval import Retrieval
from pytest_recall.metrics.mean import Mean, Tally
from pytest_recall.metrics.percentiles import percentiles
from pytest_recall.metrics.published import UNCATEGORIZED, Result, Summary, Sums

PUBLISHED = ("contains", "token_f1", "contains_at_k")
MAX_CATEGORIES = 1000


class Summarized(NamedTuple):
    """What all retrievals came to.

    `failures` are those with an error. `means` has what had a value, or was asked for by name;
    `categories` the same by category, if any retrieval has one. `published` is there where
    its three metrics are. `estimated` counts the values of each that are estimates.
    """

    n: int
    failures: int
    k: int
    means: Mapping[str, Mean]
    percentiles: Mapping[str, Value]
    estimated: Mapping[str, int]
    categories: Mapping[str, Mapping[str, Mean]] | None
    published: Summary | None


class Fold:
    """Measures retrievals as they come. It keeps sums, and of what was timed every number of seconds.

    `chosen` are the names of metrics, all `USUAL` ones if it is None; `k` is that of all retrievals.
    """

    def __init__(self, k: int, chosen: tuple[str, ...] | None = None, name: str = "") -> None:
        self.k = k
        self._named = chosen
        self._chosen = frozenset(USUAL if chosen is None else chosen)
        self._name = name
        self._n = self._failures = 0
        self._all = self._tallies()
        self._by_category: dict[str, dict[str, Tally]] = {}
        self._categorized = False
        self._seconds = array("d")
        self._estimated = {name: 0 for name in ("tokens_stored", "tokens_read") if name in self._chosen}
        self._sums = Sums()

    def add(self, one: Retrieval) -> dict[str, Value]:
        """Take a retrieval and return its values. Raises RecallError for one category too many."""
        category = one.category or UNCATEGORIZED
        if category not in self._by_category and len(self._by_category) == MAX_CATEGORIES:
            raise RecallError(f"category: more than {MAX_CATEGORIES:,} of them; leave out what is no category")
        values = measure(one, self.k, self._chosen)
        self._n += 1
        self._failures += one.error is not None
        self._categorized = self._categorized or one.category is not None
        for tallies in (self._all, self._by_category.setdefault(category, self._tallies())):
            for name, value in values.items():
                if value is None:
                    tallies[name].fail()
                else:
                    tallies[name].add(value)
        if (seconds := values.get("seconds")) is not None:
            self._seconds.append(seconds)
        for name in self._estimated:
            self._estimated[name] += name in values and getattr(one, name) is None
        self._publish(one, values)
        return values

    def _publish(self, one: Retrieval, values: Mapping[str, Value]) -> None:
        contained, f1, at_k = (values.get(name) for name in PUBLISHED)
        if contained is not None and f1 is not None and at_k is not None:
            self._sums.add(Result(bool(contained), f1, bool(at_k), one.category or ""))
        elif all(name in values for name in PUBLISHED):
            self._sums.fail(one.category or "")

    def summary(self) -> Summarized:
        """Return what it comes to so far."""
        published = all(name in self._chosen for name in PUBLISHED) and self._all["contains"].n > 0
        found = {category: self._means(tallies) for category, tallies in sorted(self._by_category.items())}
        return Summarized(
            n=self._n,
            failures=self._failures,
            k=self.k,
            means=self._means(self._all),
            percentiles=percentiles(self._seconds) if self._seconds else {},
            estimated={name: count for name, count in self._estimated.items() if self._all[name].n},
            categories=found if self._categorized else None,
            published=self._sums.summary(self._name, self.k) if published else None,
        )

    def _means(self, tallies: Mapping[str, Tally]) -> dict[str, Mean]:
        """Return the means of what has been measured at all, and of what was asked for by name."""
        asked = self._named or ()
        seen = [name for name, tally in tallies.items() if self._all[name].n and (tally.n or tally.failures)]
        return {name: tally.mean() for name, tally in tallies.items() if name in seen or name in asked}

    def _tallies(self) -> dict[str, Tally]:
        return {name: metric.tally() for name, metric in METRICS.items() if name in self._chosen}
