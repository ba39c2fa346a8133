"""Compute what the bank of a rolling budget holds on a day, and draw the affected cases that it can pay for.

A change that affects few cases leaves most of a day's budget, and it stays in the bank for the one that affects many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple

from pytest_recall.cases.settings_fields import DailyBudget
from pytest_recall.files.wording import plural
from pytest_recall.metrics.hypergeometric import runs_to_exclude, smallest_excluded
from pytest_recall.schedule.selection import shuffle_key

LOCAL = 60
"""A change that affects up to so many cases is local, and one that affects more is wide."""
_MICRO = 1_000_000  # Amounts are added up as whole millionths of a dollar, so that no order of them differs.


class Bank(NamedTuple):
    """A budget that rolls over: `per_day` US dollars, of which at most `carry_days` days' worth are kept."""

    per_day: float
    carry_days: int

    @property
    def most(self) -> float:
        """What the bank never exceeds, in US dollars."""
        return self.per_day * self.carry_days


def bank_from(budget: DailyBudget | None) -> Bank | None:
    """Return the bank of a budget as the rubric has it; None without one."""
    return None if budget is None else Bank(budget.per_day, budget.carry_days)


def balance(bank: Bank, spent: Mapping[date, float], today: date) -> float:
    """Return how much is in the bank on `today`, in US dollars: 0 to `bank.most`, what is spent today taken out.

    `spent` has US dollars by day; days after `today` do not count. The bank is full before the first of them, since
    nothing was spent. What a day spends beyond the bank is owed by the days after it. Raises ValueError for an amount
    below 0.
    """
    if any(amount < 0 for amount in spent.values()):
        raise ValueError("an amount that was spent cannot be below 0")
    a_day, most = micro(bank.per_day), micro(bank.per_day) * bank.carry_days
    left, last = most, None
    for day in sorted(day for day in spent if day <= today):
        left = _filled(left, a_day, most, day, last) - micro(spent[day])
        last = day
    return max(_filled(left, a_day, most, today, last), 0) / _MICRO


def _filled(left: int, a_day: int, most: int, day: date, last: date | None) -> int:
    return min(left + a_day * (0 if last is None else (day - last).days), most)


def micro(dollars: float) -> int:
    """Return an amount in whole millionths of a US dollar."""
    return round(dollars * _MICRO)


def affordable(dollars: float, per_run: float) -> int:
    """Return how many runs at `per_run` US dollars fit into `dollars`. Raises ValueError for a price of 0 or less."""
    if (price := micro(per_run)) <= 0:
        raise ValueError(f"{per_run} is not a price of a run; it has to be a millionth of a dollar at least")
    return micro(dollars) // price


class AffectedCase(NamedTuple):
    """A case whose requests a change has changed.

    `difference` is the same for cases whose requests differ in the same way, and `falls` is how often the case has
    fallen before.
    """

    case_id: str
    difference: str = ""
    falls: int = 0


class Spread(NamedTuple):
    """The affected cases in the order in which they are asked: those that are asked `now`, and the `deferred` ones."""

    now: tuple[str, ...]
    deferred: tuple[str, ...]


def spread(cases: Iterable[AffectedCase], room: int, seed: str) -> Spread:
    """Return which of `cases`, each of them once, are asked now if there is `room` for so many, and which are deferred.

    They are taken in rounds, in each of which every difference has one case, as far as it has any left: no second
    case of a difference comes before the first one of another. First within a difference, and first among the
    differences, are those that fell more often, then differences of more cases; the rest is a draw by `seed`. The order
    of `cases` does not matter.
    """
    groups: dict[str, dict[str, AffectedCase]] = {}
    for case in cases:
        groups.setdefault(case.difference, {})[case.case_id] = case
    drawn = [
        sorted(group.values(), key=lambda one: (-one.falls, shuffle_key(seed, one.case_id), one.case_id))
        for group in groups.values()
    ]
    drawn.sort(key=lambda group: (-group[0].falls, -len(group), shuffle_key(seed, group[0].difference), group[0]))
    longest = max(map(len, drawn), default=0)
    order = [group[turn].case_id for turn in range(longest) for group in drawn if turn < len(group)]
    room = max(room, 0)
    return Spread(tuple(order[:room]), tuple(order[room:]))


def may_stop(affected: int, confirmed: int) -> bool:
    """Return whether a change that affects so many cases may ask no more: it is wide, and a regression is confirmed."""
    return affected > LOCAL and confirmed > 0


BREAK = 3
"""Cases of a break that a line about what may be hidden speaks of."""


def hidden_line(affected: int, run: int) -> str:
    """Return what a break may still hide in, if `run` of the `affected` cases ran and none of them failed.

    It names the runs that exclude a break of `BREAK` cases, and the smallest break that is excluded, both at 95 %.
    """
    broken = min(BREAK, affected)
    if not affected or run >= affected:
        return ""
    needed, excluded = runs_to_exclude(affected, broken), smallest_excluded(affected, run)
    told = "no run excludes any" if excluded is None else f"{_exclude(run)} one of {excluded:,} or more"
    return (
        f"a break of {broken:,} of {affected:,}: {plural(needed, 'run')} {_exclude(needed, '')} it at 95 %, and {told}"
    )


def _exclude(runs: int, number: str = "{:,} ") -> str:
    return number.format(runs) + ("excludes" if runs == 1 else "exclude")
