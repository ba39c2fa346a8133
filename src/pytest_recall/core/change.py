"""Change: how often the same cases passed in two runs, and whether the difference could be chance."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from pytest_recall.metrics.binomial import Interval, wilson
from pytest_recall.metrics.paired import difference_interval, holm, mcnemar, smallest_drop


class Shown(StrEnum):
    """What a comparison shows of the pass rate."""

    DROP = "drop"
    RISE = "rise"
    NOTHING = "nothing"


class Change(NamedTuple):
    """The verdicts of `pairs` cases in two runs.

    `both` passed in both, `lost` passed in the first only, `gained` in the second only. `p` is
    the two-sided p-value of the exact McNemar test: the exact one, since it alarms no more often
    than `alpha` however many cases flip. `adjusted` is the same for a group among `tests`
    groups, by Holm's method; None where the group has too few cases to show anything.
    """

    pairs: int
    both: int
    lost: int
    gained: int
    alpha: float
    p: float
    adjusted: float | None
    tests: int = 1

    @property
    def base(self) -> int:
        """How many passed in the first run."""
        return self.both + self.lost

    @property
    def head(self) -> int:
        """How many passed in the second run."""
        return self.both + self.gained

    @property
    def difference(self) -> float:
        """The change of the pass rate, -1..1."""
        return (self.gained - self.lost) / self.pairs

    @property
    def shown(self) -> Shown:
        """What the test shows at level `alpha`."""
        if self.adjusted is None or self.adjusted > self.alpha:
            return Shown.NOTHING
        return Shown.DROP if self.lost > self.gained else Shown.RISE

    @property
    def rates(self) -> tuple[Interval, Interval]:
        """The intervals of both pass rates at level 1 - `alpha` (Wilson)."""
        confidence = 1 - self.alpha
        base, head = (wilson(passed, self.pairs, confidence) for passed in (self.base, self.head))
        assert base is not None
        assert head is not None
        return base, head

    @property
    def interval(self) -> Interval:
        """The interval of the difference at level 1 - `alpha` (Tango)."""
        found = difference_interval(self.lost, self.gained, self.pairs, 1 - self.alpha)
        assert found is not None
        if self.shown is Shown.NOTHING:
            # The exact test is the stricter one: what it takes for chance must not look certain here.
            return min(found[0], 0.0), max(found[1], 0.0)
        return found

    @property
    def smallest(self) -> float | None:
        """The smallest drop, 0..1, that so many cases show with 80 % power if as many flip; None if none would be.

        For one of several groups it is the drop that holds against all of them.
        """
        return smallest_drop(self.pairs, (self.lost + self.gained) / self.pairs, self.alpha / self.tests)


Counts = tuple[int, int, int, int]
"""Pairs, those that passed in both runs, in the first only, in the second only."""


def change(counts: Counts, alpha: float) -> Change:
    """Return the change of one set of pairs, of which there is at least one."""
    p = mcnemar(counts[2], counts[3])
    return Change(*counts, alpha=alpha, p=p, adjusted=p)


def changes(groups: Mapping[str, Counts], alpha: float) -> dict[str, Change]:
    """Return the change of each group, with p-values that hold for all groups together.

    A group so small that not even a flip of all its cases would be significant is no test,
    and costs the others nothing.
    """
    able = [name for name, counts in groups.items() if mcnemar(counts[0], 0) <= alpha]
    values = {name: mcnemar(counts[2], counts[3]) for name, counts in groups.items()}
    adjusted = dict(zip(able, holm([values[name] for name in able]), strict=True))
    return {
        name: Change(*counts, alpha=alpha, p=values[name], adjusted=adjusted.get(name), tests=max(len(able), 1))
        for name, counts in groups.items()
    }
