"""Slice: today's cases under the rubric's policy, and what is left of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from pytest_recall.core import lottery
from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Mode, Rubric
from pytest_recall.core.selection import Pick, select


def choose(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    near: Collection[str],
    rubric: Rubric,
    mode: Mode,
    today: date,
    seed: str,
) -> list[Pick]:
    """Return today's slice of `cases`, of which those in `near` are touched by the change.

    The order of `cases` does not matter, and choosing from a choice and more cases is the same as choosing from all.
    """
    if rubric.policy == "literal" or mode in ("all", "observe"):
        return select(cases, rows, rubric, mode, today, seed)
    if mode == "nightly":
        return lottery.night(cases, rows, rubric.nightly_cases, today, seed, rubric.max_verdict_age)
    return lottery.pull_request(cases, rows, near, rubric.slice_cases, today, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What was not chosen, by reason, and when the calendar asks next.

    A case that is `near` the change is counted as that alone; `stale` are those of all whose last verdict is
    older than the rubric allows.
    """

    not_due: int
    over_cap: int
    unseen: int
    next_due: date | None
    near: int = 0
    stale: int = 0


def remainder(
    cases: Iterable[str],
    picks: Iterable[Pick],
    rows: Mapping[str, Row],
    today: date,
    near: Collection[str] = (),
    longest: int | None = None,
) -> Remainder:
    """Return the counts of `cases` that are not in `picks`; a verdict of `longest` days is stale."""
    chosen = {pick.case_id for pick in picks}
    not_due = over_cap = unseen = close = stale = 0
    upcoming: date | None = None
    for case in set(cases) - chosen:
        row = rows.get(case)
        stale += row is not None and longest is not None and lottery.age_of(row, today) >= longest
        if case in near:
            close += 1
        elif row is None:
            unseen += 1
        elif row.is_due(today):
            over_cap += 1
        else:
            not_due += 1
            upcoming = row.next_due if upcoming is None else min(upcoming, row.next_due)
    return Remainder(not_due=not_due, over_cap=over_cap, unseen=unseen, next_due=upcoming, near=close, stale=stale)
