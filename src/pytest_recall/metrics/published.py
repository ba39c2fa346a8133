"""The published summary: the three means that retrieval scores of memory systems are published as.

“Exact match” is `contains` and “recall@k” is `contains_at_k`; the names are kept for tables that
are put beside published ones. A failure is in these means as a zero, as it is there; `Mean`
is the honest one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

UNCATEGORIZED = "uncategorized"


class Result(NamedTuple):
    """What one question came to: on the best candidate, and over the first k texts."""

    contains: bool
    token_f1: float
    contains_at_k: bool
    category: str = ""


class Means(NamedTuple):
    """The three means, 0..1, over `questions`; 0.0 each without any, as they are published."""

    questions: int = 0
    exact_match: float = 0.0
    token_f1: float = 0.0
    recall_at_k: float = 0.0


class Summary(NamedTuple):
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

    def add(self, result: Result) -> None:
        """Take a result."""
        self._all = _plus(self._all, result)
        self._named = self._named or bool(result.category)
        category = result.category or UNCATEGORIZED
        self._by_category[category] = _plus(self._by_category.get(category, Means()), result)

    def fail(self, category: str = "") -> None:
        """Take a question that could not be asked: three zeros."""
        self._failures += 1
        self.add(Result(False, 0.0, False, category))

    def summary(self, name: str, k: int) -> Summary:
        """Return what it comes to so far; a question without a category is `UNCATEGORIZED` where others have one."""
        found = {category: _mean(sums) for category, sums in sorted(self._by_category.items())}
        return Summary(name, k, _mean(self._all), self._failures, found if self._named else None)


def summarize(name: str, results: Iterable[Result], k: int, failures: int = 0) -> Summary:
    """Return the summary of `results`, in which the `failures` are, as zeros."""
    sums = Sums()
    for result in results:
        sums.add(result)
    return sums.summary(name, k)._replace(failures=failures)


def _plus(sums: Means, result: Result) -> Means:
    n, contained, f1, at_k = sums
    return Means(n + 1, contained + result.contains, f1 + result.token_f1, at_k + result.contains_at_k)


def _mean(sums: Means) -> Means:
    n, contained, f1, at_k = sums
    return Means(n, contained / n, f1 / n, at_k / n) if n else sums
