"""Selection: which cases the boxes alone ask for today, and why."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple

from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Mode, Rubric


class Pick(NamedTuple):
    """A case that was chosen, and the reason: "box 1", "due", "new", "all", "explicit", or one of `core/lottery.py`."""

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
    if mode in ("all", "observe"):
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
