"""Unanswered: cases that come to no verdict time and again, when they are asked again, and in how much of a slice."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import NamedTuple

from pytest_recall.core.schedule import UNSCHEDULED
from pytest_recall.core.trial import Trial

SHARE = 5
"""At the most one in so many places of a slice is for cases that came to no verdict on several days."""
LONGEST_REST = 14
"""Days after which such a case is asked again at the latest."""


class Unanswered(NamedTuple):
    """A case that was asked on so many `days` since its last verdict, and `last_asked` on the last of them."""

    last_asked: date
    days: int = 1

    @property
    def rests(self) -> bool:
        """Whether it makes room for others; one day may be an outage, and says nothing of the case."""
        return self.days > 1

    @property
    def next_asked(self) -> date:
        """The day from which on it is asked again: after 2, 4, 8 and then each 14 days."""
        rest = min(2 ** min(self.days - 1, 10), LONGEST_REST) if self.rests else 0
        return self.last_asked + timedelta(days=rest)


def unanswered_after(
    before: Mapping[str, Unanswered], graded: Mapping[str, Trial], today: date
) -> dict[str, Unanswered | None]:
    """Return what the trials of `today` that grade cases change, by case id; None where there is a verdict now.

    Errors and skips count alike. A miss in a replay does not: nothing was asked.
    """
    changed: dict[str, Unanswered | None] = {}
    for case_id, trial in graded.items():
        known = before.get(case_id)
        if trial.reason in UNSCHEDULED or trial.source == "replayed" or (known and known.last_asked > today):
            continue
        if trial.outcome.is_verdict:
            if known is not None and trial.evidence:
                changed[case_id] = None
        elif known is None:
            changed[case_id] = Unanswered(today)
        elif known.last_asked < today:
            changed[case_id] = Unanswered(today, known.days + 1)
    return changed


def with_changes(before: Mapping[str, Unanswered], changed: Mapping[str, Unanswered | None]) -> dict[str, Unanswered]:
    """Return the cases without a verdict after what has `changed`."""
    return {case_id: one for case_id, one in {**before, **changed}.items() if one is not None}


def merged(
    base: Mapping[str, Unanswered], ours: Mapping[str, Unanswered], theirs: Mapping[str, Unanswered]
) -> dict[str, Unanswered]:
    """Return the cases without a verdict on both sides of a merge; a verdict on either takes a case out.

    The later day counts, and of one day the larger count: what rests too long is asked after `LONGEST_REST` days.
    """
    found = {}
    for case_id in ours.keys() | theirs.keys():
        sides = [side[case_id] for side in (ours, theirs) if case_id in side]
        if len(sides) == 1 and case_id in base:
            continue
        found[case_id] = max(sides)
    return found
