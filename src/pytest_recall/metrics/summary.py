"""Summarize many lines of retrieval results: means by metric and category, and the published summary.

“Exact match” is `contains` and “recall@k” is `contains_at_k`; the names are kept for tables that
are put beside published ones. A failure is in these means as a zero, as it is there; `Mean`
is the honest one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from pytest_recall.files.errors import RecallError
from pytest_recall.metrics.intervals import Mean, Tally, percentiles
from pytest_recall.metrics.retrieval import METRICS, USUAL, MetricValue, Retrieval, measure

UNCATEGORIZED = "uncategorized"


class RetrievalResult(NamedTuple):
    """What one question came to: on the best candidate, and over the first k texts."""

    contains: bool
    token_f1: float
    contains_at_k: bool
    category: str = ""


class Means(NamedTuple):
    """The three means, from 0 to 1; 0.0 each without any question, as they are published."""

    questions: int = 0
    """How many questions they are over."""
    exact_match: float = 0.0
    token_f1: float = 0.0
    recall_at_k: float = 0.0


class RetrievalSummary(NamedTuple):
    """The means of a benchmark, how many of its questions failed, and the same by category if any has one."""

    name: str
    k: int
    means: Means
    failures: int = 0
    categories: Mapping[str, Means] | None = None


class Sums:
    """Adds results up to a Summary, in constant memory but for the categories."""

    def __init__(self) -> None:
        self._by_category: dict[str, Means] = {}
        self._all = Means()
        self._failures = 0
        self._named = False

    def add(self, result: RetrievalResult) -> None:
        """Take a result."""
        self._all = _plus(self._all, result)
        self._named = self._named or bool(result.category)
        category = result.category or UNCATEGORIZED
        self._by_category[category] = _plus(self._by_category.get(category, Means()), result)

    def fail(self, category: str = "") -> None:
        """Take a question that could not be asked: three zeros."""
        self._failures += 1
        self.add(RetrievalResult(False, 0.0, False, category))

    def summary(self, name: str, k: int) -> RetrievalSummary:
        """Return what it comes to so far; a question without a category is `UNCATEGORIZED` where others have one."""
        found = {category: _mean(sums) for category, sums in sorted(self._by_category.items())}
        return RetrievalSummary(name, k, _mean(self._all), self._failures, found if self._named else None)


def summarize(name: str, results: Iterable[RetrievalResult], k: int, failures: int = 0) -> RetrievalSummary:
    """Return the summary of `results`, in which the `failures` are, as zeros."""
    sums = Sums()
    for result in results:
        sums.add(result)
    return sums.summary(name, k)._replace(failures=failures)


def _plus(sums: Means, result: RetrievalResult) -> Means:
    n, contained, f1, at_k = sums
    return Means(n + 1, contained + result.contains, f1 + result.token_f1, at_k + result.contains_at_k)


def _mean(sums: Means) -> Means:
    n, contained, f1, at_k = sums
    return Means(n, contained / n, f1 / n, at_k / n) if n else sums


PUBLISHED = ("contains", "token_f1", "contains_at_k")
MAX_CATEGORIES = 1000


class Summarized(NamedTuple):
    """What all retrievals came to."""

    n: int
    failures: int
    """How many had an error."""
    k: int
    means: Mapping[str, Mean]
    """Of what had a value, or was asked for by name."""
    percentiles: Mapping[str, MetricValue]
    estimated: Mapping[str, int]
    """How many values of each metric are estimates."""
    categories: Mapping[str, Mapping[str, Mean]] | None
    """The means by category, if any retrieval has one."""
    published: RetrievalSummary | None
    """There where its three metrics are."""


class RetrievalFold:
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

    def add(self, one: Retrieval) -> dict[str, MetricValue]:
        """Take a retrieval and return its values. Raises RecallError for one category too many."""
        category = one.category or UNCATEGORIZED
        if category not in self._by_category and len(self._by_category) == MAX_CATEGORIES:
            raise RecallError(f"category: more than {MAX_CATEGORIES:,} of them; leave out what is not a category")
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

    def _publish(self, one: Retrieval, values: Mapping[str, MetricValue]) -> None:
        contained, f1, at_k = (values.get(name) for name in PUBLISHED)
        if contained is not None and f1 is not None and at_k is not None:
            self._sums.add(RetrievalResult(bool(contained), f1, bool(at_k), one.category or ""))
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
