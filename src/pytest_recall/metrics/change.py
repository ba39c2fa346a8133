"""Compare how often the same cases passed in two runs, and test whether the difference could be chance."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

from pytest_recall.metrics.intervals import Interval, critical_t, wilson
from pytest_recall.metrics.paired import difference_interval, holm, mcnemar, sign_flip, smallest_drop


class ChangeSummary(StrEnum):
    """What a comparison shows of the pass rate."""

    DROP = "drop"
    RISE = "rise"
    NOTHING = "nothing"


class ClusterDifference(NamedTuple):
    """By how much the `pairs` of a group changed, added up: second minus first."""

    total: Fraction
    pairs: int


def cluster_differences(
    differences: Mapping[str, Fraction], clusters: Mapping[str, str]
) -> tuple[ClusterDifference, ...]:
    """Return the differences of pairs by the cluster of each; nothing where each pair is one of its own."""
    groups: dict[str, list[Fraction]] = {}
    for id, difference in differences.items():
        groups.setdefault(clusters[id], []).append(difference)
    if len(groups) == len(differences):
        return ()
    return tuple(ClusterDifference(sum(one, Fraction()), len(one)) for one in groups.values())


class Counts(NamedTuple):
    """The verdicts of some cases in two runs.

    Of cases that were tried several times these are sums of shares: a case that passed 4 of 5 times and then 1 of 5 has
    0.2 in both and 0.6 lost.
    """

    pairs: int
    """How many cases there are."""
    both: float
    """How many passed in both runs."""
    lost: float
    """How many passed in the first run only."""
    gained: float
    """How many passed in the second run only."""
    differences: tuple[Fraction, ...] = ()
    """Of cases that were tried several times, those of the shares, one for each pair, second minus first; none without
    such cases."""
    clusters: tuple[ClusterDifference, ...] = ()
    """There where pairs come in groups that resemble each other, such as questions about one conversation: then a group
    changes as a whole, and that is what is tested."""

    @property
    def p(self) -> float:
        """The two-sided p-value.

        By the exact McNemar test, or by sign flips where there are shares, which for single
        trials is the same: both alarm no more often than their level, however many cases flip. Of clusters the signs
        of their sums are flipped, all 2^G where that can be counted (Cameron, Gelbach and Miller 2008, Review of
        Economics and Statistics 90:414, whose wild bootstrap has the same points).
        """
        if self.clusters:
            return sign_flip([one.total for one in self.clusters])
        return sign_flip(self.differences) if self.differences else mcnemar(int(self.lost), int(self.gained))

    @property
    def least(self) -> float:
        """The p-value if all of them had changed in one direction: no result could have a lower one."""
        return mcnemar(len(self.clusters) or self.pairs, 0)


class Change(NamedTuple):
    """What the counts of two runs come to."""

    counts: Counts
    alpha: float
    p: float
    """That of `counts`."""
    adjusted: float | None
    """The same for a group among `tests` groups, by Holm's method; None where the group has too few cases to show
    anything."""
    tests: int = 1

    @property
    def least(self) -> float:
        """The adjusted p-value that no result could have been below."""
        return min(1.0, self.counts.least * self.tests)

    @property
    def pairs(self) -> int:
        """How many cases there are."""
        return self.counts.pairs

    @property
    def both(self) -> float:
        """How many passed in both runs, shares added up."""
        return self.counts.both

    @property
    def lost(self) -> float:
        """How many passed in the first run only, shares added up."""
        return self.counts.lost

    @property
    def gained(self) -> float:
        """How many passed in the second run only, shares added up."""
        return self.counts.gained

    @property
    def shares(self) -> bool:
        """Whether there are shares among the verdicts."""
        return bool(self.counts.differences)

    @property
    def test(self) -> str:
        """Which test `p` is of."""
        if self.counts.clusters:
            return "sign flips of clusters"
        return "sign flips" if self.shares else "mcnemar"

    @property
    def fell(self) -> int:
        """How many cases passed less often in the second run."""
        return sum(one < 0 for one in self.counts.differences) if self.shares else int(self.lost)

    @property
    def rose(self) -> int:
        """How many cases passed more often in the second run."""
        return sum(one > 0 for one in self.counts.differences) if self.shares else int(self.gained)

    @property
    def base(self) -> float:
        """How many passed in the first run."""
        return self.both + self.lost

    @property
    def head(self) -> float:
        """How many passed in the second run."""
        return self.both + self.gained

    @property
    def difference(self) -> float:
        """The change of the pass rate, -1..1."""
        return (self.gained - self.lost) / self.pairs

    @property
    def shown(self) -> ChangeSummary:
        """What the test shows at level `alpha`."""
        if self.adjusted is None or self.adjusted > self.alpha:
            return ChangeSummary.NOTHING
        return ChangeSummary.DROP if self.lost > self.gained else ChangeSummary.RISE

    @property
    def rates(self) -> tuple[Interval, Interval]:
        """The intervals of both pass rates at level 1 - `alpha` (Wilson).

        For shares they are too wide rather than too narrow: these vary less than single verdicts. So for clusters, each
        of which counts as one verdict: as much as if all of its pairs came out alike.
        """
        confidence, n = 1 - self.alpha, self._independent
        base, head = (wilson(passed * n / self.pairs, n, confidence) for passed in (self.base, self.head))
        assert base is not None
        assert head is not None
        return base, head

    @property
    def interval(self) -> Interval:
        """The interval of the difference at level 1 - `alpha` (Tango); for shares too wide rather than too narrow.

        Of clusters it is the wider one of this and the cluster-robust one, by the formula of `metrics.clustered`.
        """
        found = difference_interval(self.lost, self.gained, self.pairs, 1 - self.alpha)
        assert found is not None
        if half := self._clustered_half:
            found = max(min(found[0], self.difference - half), -1.0), min(max(found[1], self.difference + half), 1.0)
        if self.shown is ChangeSummary.NOTHING:
            # The exact test is the stricter one: what it takes for chance must not look certain here.
            return min(found[0], 0.0), max(found[1], 0.0)
        return found

    @property
    def _clustered_half(self) -> float:
        """Half of the cluster-robust interval; 0 without clusters, or with a single one."""
        clusters, pairs = self.counts.clusters, self.counts.pairs
        if len(clusters) < 2:
            return 0.0
        mean = sum(one.total for one in clusters) / pairs
        spread = float(sum((one.total - one.pairs * mean) ** 2 for one in clusters))
        count = len(clusters)
        return critical_t(count - 1, 1 - self.alpha) * sqrt(count / (count - 1) * spread) / pairs

    @property
    def smallest(self) -> float | None:
        """The smallest drop, 0..1, that so many cases show with 80 % power if as many flip; None if none would be.

        For one of several groups it is the drop that holds against all of them. Shares show a smaller one, and so do
        clusters whose pairs do not all change together.
        """
        flipped = self.lost + self.gained
        if self.counts.clusters:
            flipped = sum(bool(one.total) for one in self.counts.clusters)
        return smallest_drop(self._independent, flipped / self._independent, self.alpha / self.tests)

    @property
    def _independent(self) -> int:
        """How many pairs, or clusters of them, change each for itself."""
        return len(self.counts.clusters) or self.pairs


def change(counts: Counts, alpha: float) -> Change:
    """Return the change of one set of pairs, of which there is at least one."""
    p = counts.p
    return Change(counts, alpha, p, p)


def changes(groups: Mapping[str, Counts], alpha: float) -> dict[str, Change]:
    """Return the change of each group, with p-values that hold for all groups together.

    A group so small that not even a flip of all its cases would be significant is not a test,
    and costs the others nothing.
    """
    able = [name for name, counts in groups.items() if counts.least <= alpha]
    values = {name: counts.p for name, counts in groups.items()}
    adjusted = dict(zip(able, holm([values[name] for name in able]), strict=True))
    return {
        name: Change(counts, alpha, values[name], adjusted.get(name), max(len(able), 1))
        for name, counts in groups.items()
    }
