"""Define the schedules that are simulated: by the boxes, by lottery, and by what a change affects."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.schedule.bank import Bank
from pytest_recall.schedule.selection import Pick, night, pull_request, select
from pytest_recall.trials.series import AnyRule, Rule, confirming
from pytest_recall.trials.trial import Row

TWO_OF_THREE = Rule("fail", 2, 3)
Slice = Callable[[Mapping[str, Row], Collection[str], date, str], Sequence[Pick]]
"""Chooses from rows, the cases that are near the change, the date, and the seed."""


class Policy(NamedTuple):
    """A schedule: what a pull request runs, what a night runs, and how a fail is confirmed, if it is.

    With a `bank` a pull request runs the cases that it affects, for what is in it, in place of a slice. While the bank
    is full, so that what the day brings would be lost, a night is a `long_night`, and pays out of it what it runs more.
    """

    name: str
    pull_request: Slice
    night: Slice
    confirm: AnyRule | None
    bank: Bank | None = None
    long_night: Slice | None = None


class SliceSizes(NamedTuple):
    """How much the lottery runs: cases in a pull request, cases a night, and after how many days one is stale.

    A night without a size takes all that is stale, in box 1, due or new; without days nothing is stale.
    """

    slice: int
    nightly: int | None
    stalest: int | None


def usual_sizes(rubric: Settings, cases: int) -> SliceSizes:
    """Return the sizes that hold for a set of so many `cases` where no others are asked for.

    Those of a rubric with the lottery; beside the boxes a slice of as many cases as they may take of the due, and
    nights that take each case in two weeks, unless they have a size.
    """
    if rubric.policy != "literal":
        return SliceSizes(rubric.slice_cases, rubric.nightly_cases, rubric.max_verdict_age)
    nightly = rubric.nightly_max_cases
    return SliceSizes(rubric.max_due_cases, math.ceil(cases / 14) if nightly is None else nightly, 7)


def confirmation(rubric: Settings) -> AnyRule | None:
    """Return how the rubric has a fail confirmed, or None if it counts at once."""
    return None if rubric.confirm is None else confirming(rubric.confirm)


def literal(rubric: Settings, cases: Collection[str]) -> Policy:
    """Return the schedule of boxes alone."""
    return Policy(
        "literal",
        lambda rows, near, today, seed: select(cases, rows, rubric, "pr", today, seed),
        lambda rows, near, today, seed: select(cases, rows, rubric, "nightly", today, seed),
        confirmation(rubric),
    )


def lottery(
    cases: Collection[str],
    size: int,
    nightly: int | None,
    longest: int | None = None,
    confirm: AnyRule | None = TWO_OF_THREE,
    near_share: float = DEFAULT_SETTINGS.near_share,
) -> Policy:
    """Return the schedule of slices of a fixed size."""
    return Policy(
        "lottery",
        lambda rows, near, today, seed: pull_request(cases, rows, near, size, today, seed, near_share),
        lambda rows, near, today, seed: night(cases, rows, nightly, today, seed, longest),
        confirm,
    )


def affected(
    cases: Collection[str], bank: Bank, nightly: int | None, longest: int | None, confirm: AnyRule | None = TWO_OF_THREE
) -> Policy:
    """Return the schedule that runs all cases which a change affects, once, for what is in the bank.

    What there is no money for is not asked. Nights are those of the lottery, and twice as long while the bank is full.
    """

    def lasting(size: int | None) -> Slice:
        return lambda rows, near, today, seed: night(cases, rows, size, today, seed, longest)

    longer = None if nightly is None else lasting(2 * nightly)
    return Policy("affected", lambda rows, near, today, seed: (), lasting(nightly), confirm, bank, longer)
