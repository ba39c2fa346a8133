"""Selection: which cases run today, why, and why the rest does not."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Mode, Rubric


class Pick(NamedTuple):
    """A case that was chosen, and the reason: "box 1", "due", "new", "all" or "explicit"."""

    case_id: str
    reason: str


def select(
    cases: Iterable[str], rows: Mapping[str, Row], rubric: Rubric, mode: Mode, today: date, seed: str
) -> list[Pick]:
    """Return today's slice of `cases`, in the order of its reasons.

    A pull request runs all of box 1, the longest overdue of the rest up to a cap, and a
    few new cases; a night runs all that is overdue, and a few new cases. The order of
    `cases` does not matter, and selecting from a selection and more cases gives the same
    slice as selecting from all cases at once.
    """
    pool = sorted(set(cases))
    if mode == "all":
        return [Pick(case, "all") for case in pool]
    seen = [case for case in pool if case in rows]
    retest = [case for case in seen if rows[case].box == 1]
    due = sorted((case for case in seen if rows[case].is_due(today)), key=lambda case: (rows[case].next_due, case))
    new = sorted((case for case in pool if case not in rows), key=lambda case: ticket(seed, case))
    new = new[: rubric.new_traffic_sample]
    if mode == "nightly":
        retest, due = [], due[: rubric.nightly_max_cases]
    else:
        due = [case for case in due if rows[case].box > 1][: rubric.max_due_cases]
    return (
        [Pick(case, "box 1") for case in retest]
        + [Pick(case, "due") for case in due]
        + [Pick(case, "new") for case in new]
    )


def ticket(seed: str, case_id: str) -> bytes:
    """Return the case's place in the draw: its own hash, so that one case more moves one pick at most."""
    return hashlib.sha256(f"{seed}:{case_id}".encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What was not chosen, by reason, and when the calendar asks next."""

    not_due: int
    over_cap: int
    unseen: int
    next_due: date | None


def remainder(cases: Iterable[str], picks: Iterable[Pick], rows: Mapping[str, Row], today: date) -> Remainder:
    """Return the counts of `cases` that are not in `picks`."""
    chosen = {pick.case_id for pick in picks}
    not_due = over_cap = unseen = 0
    upcoming: date | None = None
    for case in set(cases) - chosen:
        row = rows.get(case)
        if row is None:
            unseen += 1
        elif row.is_due(today):
            over_cap += 1
        else:
            not_due += 1
            upcoming = row.next_due if upcoming is None else min(upcoming, row.next_due)
    return Remainder(not_due=not_due, over_cap=over_cap, unseen=unseen, next_due=upcoming)
