"""Selection: which cases the boxes alone ask for today, and why."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date
from typing import NamedTuple

from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Mode, Rubric


class Pick(NamedTuple):
    """A case that was chosen, and the reason: "box 1", "due", "new", "all", "explicit", or one of `core/lottery.py`."""

    case_id: str
    reason: str


class Room(NamedTuple):
    """How many cases of each kind a slice may have; None is all there are."""

    retests: int | None = None
    due: int | None = None
    new: int | None = None

    @classmethod
    def of(cls, rubric: Rubric, mode: Mode) -> Room:
        """Return what the rubric allows in a run of this mode."""
        if mode == "nightly":
            return cls(0, rubric.nightly_max_cases, rubric.new_traffic_sample)
        return cls(rubric.box_1_cases, rubric.max_due_cases, rubric.new_traffic_sample)

    def share(self, parts: int) -> Room:
        """Return one in so many `parts` of each kind; one at least of what there is any of."""
        return Room(*(kind and max(kind // parts, 1) for kind in self))

    def less(self, picks: Iterable[Pick]) -> Room:
        """Return what `picks` leave."""
        taken = Counter(pick.reason for pick in picks)
        counts = (taken["box 1"], taken["due"], taken["new"])
        return Room(*(kind and max(kind - count, 0) for kind, count in zip(self, counts, strict=True)))


def select(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    rubric: Rubric,
    mode: Mode,
    today: date,
    seed: str,
    room: Room | None = None,
) -> list[Pick]:
    """Return today's slice of `cases`, in the order of its reasons, for as many as there is `room` for by the rubric.

    A pull request runs box 1, the longest overdue of the rest, and a few new cases, each up to its cap; a night runs
    all that is overdue, and a few new cases. Where box 1 has more than its cap, those that failed come first, and
    of these and of the others those that were tested longest ago. The order of
    `cases` does not matter, and selecting from a selection and more cases gives the same
    slice as selecting from all cases at once.
    """
    pool = sorted(set(cases))
    if mode in ("all", "observe"):
        return [Pick(case, "all") for case in pool]
    room = room or Room.of(rubric, mode)
    seen = [case for case in pool if case in rows]
    retest = [case for case in seen if rows[case].box == 1]
    if room.retests is not None and len(retest) > room.retests:
        retest.sort(key=lambda case: (not rows[case].failing, rows[case].last_tested, ticket(seed, case)))
        retest = sorted(retest[: room.retests])
    due = sorted((case for case in seen if rows[case].is_due(today)), key=lambda case: (rows[case].next_due, case))
    new = sorted((case for case in pool if case not in rows), key=lambda case: ticket(seed, case))
    if mode != "nightly":
        due = [case for case in due if rows[case].box > 1]
    return (
        [Pick(case, "box 1") for case in (retest if mode != "nightly" else ())]
        + [Pick(case, "due") for case in due[: room.due]]
        + [Pick(case, "new") for case in new[: room.new]]
    )


def ticket(seed: str, case_id: str) -> bytes:
    """Return the case's place in the draw: its own hash, so that one case more moves one pick at most."""
    return hashlib.sha256(f"{seed}:{case_id}".encode()).digest()
