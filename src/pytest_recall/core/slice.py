"""Slice: today's cases under the rubric's policy, and what is left of the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType

from pytest_recall.core import lottery
from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Mode, Rubric
from pytest_recall.core.selection import Pick, Room, select
from pytest_recall.core.unanswered import SHARE, Unanswered


def choose(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    near: Collection[str],
    rubric: Rubric,
    mode: Mode,
    today: date,
    seed: str,
    unanswered: Mapping[str, Unanswered] = MappingProxyType({}),
) -> list[Pick]:
    """Return today's slice of `cases`, of which those in `near` are touched by the change.

    What came to no verdict on several days, as `unanswered` says, rests for some days, unless the change touches it,
    and then has a share of the slice at the most: else it would stay the longest overdue for ever.
    The order of `cases` does not matter, and choosing from a choice and more cases is the same as choosing from all.
    """
    pool = set(cases)
    if mode in ("all", "observe"):
        return select(pool, rows, rubric, mode, today, seed)
    resting = {case_id for case_id in pool if case_id in unanswered and unanswered[case_id].rests}
    again = [case_id for case_id in resting if case_id in near or unanswered[case_id].next_asked <= today]
    if rubric.policy == "literal":
        room = Room.of(rubric, mode)
        held = select(again, rows, rubric, mode, today, seed, room.share(SHARE)) if again else []
        return select(pool - resting, rows, rubric, mode, today, seed, room.less(held)) + held
    size = rubric.nightly_cases if mode == "nightly" else rubric.slice_cases
    share = None if size is None else max(size // SHARE, 1)

    def drawn(ids: Iterable[str], size: int | None) -> list[Pick]:
        if mode == "nightly":
            return lottery.night(ids, rows, size, today, seed, rubric.max_verdict_age)
        assert size is not None
        return lottery.pull_request(ids, rows, near, size, today, seed, rubric.near_share)

    held = drawn(again, share) if again else []
    return drawn(pool - resting, None if size is None else size - len(held)) + held


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
    *,
    retests: bool = True,
) -> Remainder:
    """Return the counts of `cases` that are not in `picks`; a verdict of `longest` days is stale.

    `retests` says that box 1 is chosen whether it is due or not, so that what is left of it is beyond the size.
    """
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
        elif row.is_due(today) or (retests and row.box == 1):
            over_cap += 1
        else:
            not_due += 1
            upcoming = row.next_due if upcoming is None else min(upcoming, row.next_due)
    return Remainder(not_due=not_due, over_cap=over_cap, unseen=unseen, next_due=upcoming, near=close, stale=stale)
