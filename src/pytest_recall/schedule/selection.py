"""The rule of the schedule: which cases a run asks.

a pull request: all that the change affects · box 1, within a cap · what is due, oldest first, up to `max_due_cases` ·
`new_traffic_sample` never-seen ones
a push to the default branch: all of which the recording is not that of today's requests
a night: these · all that is due, oldest first · `new_traffic_sample` never-seen ones · then, until `nightly_cases` are
asked, more never-seen ones and the oldest verdicts

How rows move afterwards is `review` in `schedule/boxes.py`. A case that came to no verdict on several days rests, so
that it does not stay the longest overdue for ever (`Unanswered`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.cases.settings import Mode, Settings
from pytest_recall.schedule.boxes import AFFECTED, UNSCHEDULED
from pytest_recall.trials.trial import Row, Trial

RETEST, DUE, NEW, OLDEST, ALL = "box 1", "due", "new", "oldest verdict", "all"
"""Why a case is asked, beside `AFFECTED`."""


class Pick(NamedTuple):
    """A case that was chosen, and the reason: "affected", "box 1", "due", "new", "oldest verdict", "all", ..."""

    case_id: str
    reason: str


class Room(NamedTuple):
    """How many cases of each kind a slice may have; None is all there are."""

    retests: int | None = None
    due: int | None = None
    new: int | None = None

    @classmethod
    def of(cls, rubric: Settings) -> Room:
        """Return what the rubric allows in a pull request."""
        return cls(rubric.box_1_cases, rubric.max_due_cases, rubric.new_traffic_sample)

    def share(self, parts: int) -> Room:
        """Return one in so many `parts` of each kind; one at least of what there is any of."""
        return Room(*(kind and max(kind // parts, 1) for kind in self))

    def less(self, picks: Iterable[Pick]) -> Room:
        """Return what `picks` leave."""
        taken = Counter(pick.reason for pick in picks)
        counts = (taken[RETEST], taken[DUE], taken[NEW])
        return Room(*(kind and max(kind - count, 0) for kind, count in zip(self, counts, strict=True)))


def pull_request(cases: Iterable[str], rows: Mapping[str, Row], room: Room, today: date, seed: str) -> list[Pick]:
    """Return what a pull request asks of `cases` beside those that its change affects.

    Box 1 first: what failed, then what was tested longest ago. Then what is due, the longest overdue first, and
    never-seen cases, drawn by `seed`. Each up to its `room`.
    """
    pool = sorted(set(cases))
    retest = [case for case in pool if case in rows and rows[case].box == 1]
    if room.retests is not None and len(retest) > room.retests:
        retest.sort(key=lambda case: (not rows[case].failing, rows[case].last_tested, shuffle_key(seed, case)))
        retest = sorted(retest[: room.retests])
    due = [case for case in _due(pool, rows, today) if rows[case].box > 1]
    return [
        *(Pick(case, RETEST) for case in retest),
        *(Pick(case, DUE) for case in due[: room.due]),
        *(Pick(case, NEW) for case in _unseen(pool, rows, seed)[: room.new]),
    ]


def night(
    cases: Iterable[str], rows: Mapping[str, Row], size: int | None, new: int, today: date, seed: str
) -> list[Pick]:
    """Return what a night asks of `cases`: all that is due, and `new` never-seen ones, however many that makes.

    It is filled up to `size` with never-seen cases and those with the oldest verdicts; None fills nothing.
    """
    pool = sorted(set(cases))
    due, unseen = _due(pool, rows, today), _unseen(pool, rows, seed)
    picks = [*(Pick(case, DUE) for case in due), *(Pick(case, NEW) for case in unseen[:new])]
    left = max((size or 0) - len(picks), 0)
    waiting = (case for case in pool if case in rows and not rows[case].is_due(today))
    oldest = sorted(waiting, key=lambda case: (rows[case].last_tested, shuffle_key(seed, case)))
    fill = [*(Pick(case, NEW) for case in unseen[new:]), *(Pick(case, OLDEST) for case in oldest)]
    return picks + fill[:left]


def _due(pool: Iterable[str], rows: Mapping[str, Row], today: date) -> list[str]:
    due = (case for case in pool if case in rows and rows[case].is_due(today))
    return sorted(due, key=lambda case: (rows[case].next_due, case))


def _unseen(pool: Iterable[str], rows: Mapping[str, Row], seed: str) -> list[str]:
    return sorted((case for case in pool if case not in rows), key=lambda case: shuffle_key(seed, case))


def shuffle_key(seed: str, case_id: str) -> bytes:
    """Return the case's place in the draw: its own hash, so that one case more moves one pick at most."""
    return hashlib.sha256(f"{seed}:{case_id}".encode()).digest()


SHARE = 5
"""At the most one in so many places of a slice is for cases that came to no verdict on several days."""
LONGEST_REST = 14
"""Days after which such a case is asked again at the latest."""


class Unanswered(NamedTuple):
    """A case that came to no verdict when it was last asked."""

    last_asked: date
    """The last day on which it was asked."""
    days: int = 1
    """On how many days it was asked since its last verdict; 0 is possible for a waived one."""
    waived: str = ""
    """Who has let a change pass without its verdict, and which; `last_asked` may then be the day of that."""

    @property
    def rests(self) -> bool:
        """Whether it makes room for others; one day may be an outage, and says nothing of the case."""
        return self.days > 1 and not self.waived

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
            if known is not None and trial.counts_for_schedule:
                changed[case_id] = None
        elif known is None:
            changed[case_id] = Unanswered(today)
        elif known.last_asked < today:
            changed[case_id] = known._replace(last_asked=today, days=known.days + 1)
    return changed


def with_changes(before: Mapping[str, Unanswered], changed: Mapping[str, Unanswered | None]) -> dict[str, Unanswered]:
    """Return the cases without a verdict after what has `changed`."""
    return {case_id: one for case_id, one in {**before, **changed}.items() if one is not None}


def choose(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    *,
    unanswered: Mapping[str, Unanswered] = MappingProxyType({}),
    affected: Mapping[str, str] = MappingProxyType({}),
) -> list[Pick]:
    """Return today's slice of `cases`; those that are `affected` come first, by a change or since main was changed.

    `affected` maps them to the reason, such as `AFFECTED` or `REJUDGED`.

    What came to no verdict on several days, as `unanswered` says, rests for some days, and then has one place in
    `SHARE` at the most. The order of `cases` does not matter, and choosing from a choice and more cases is the same
    as choosing from all of them.
    """
    pool = set(cases)
    if mode in ("all", "observe"):
        return [Pick(case_id, ALL) for case_id in sorted(pool)]
    first = [Pick(case_id, affected[case_id]) for case_id in sorted(pool & affected.keys())]
    first.sort(key=lambda pick: pick.reason != AFFECTED)
    if mode == "main":
        return first
    pool -= affected.keys()
    resting = {case_id for case_id in pool if case_id in unanswered and unanswered[case_id].rests}
    again = [case_id for case_id in resting if unanswered[case_id].next_asked <= today]
    if mode == "pr":
        room = Room.of(rubric)
        held = pull_request(again, rows, room.share(SHARE), today, seed) if again else []
        return first + pull_request(pool - resting, rows, room.less(held), today, seed) + held
    held, new = night(again, rows, None, 1, today, seed), rubric.new_traffic_sample
    if rubric.nightly_cases is None:
        picks = night(pool - resting, rows, None, new, today, seed)
        # A share of what the others make, which is the same in a choice from all and in one from a part.
        return first + picks + held[: max(len(picks) // (SHARE - 1), 1)]
    held = held[: max(rubric.nightly_cases // SHARE, 1)]
    size = max(rubric.nightly_cases - len(first) - len(held), 0)
    return first + night(pool - resting, rows, size, new, today, seed) + held


@dataclass(frozen=True, slots=True, kw_only=True)
class Remainder:
    """What was not chosen, and when the calendar asks next."""

    not_due: int
    over_cap: int
    """Due beyond a cap."""
    unseen: int
    """Never seen."""
    next_due: date | None
    """When the calendar asks next."""
    without_base: int = 0
    """Those of a check that cannot find its base, of which none is chosen, due or not."""


def remainder(
    cases: Iterable[str], picks: Iterable[Pick], rows: Mapping[str, Row], today: date, *, retests: bool = True
) -> Remainder:
    """Return the counts of `cases` that are not in `picks`.

    `retests` says that box 1 is asked whether it is due or not, so that what is left of it is beyond its cap.
    """
    chosen = {pick.case_id for pick in picks}
    not_due = over_cap = unseen = 0
    upcoming: date | None = None
    for case in set(cases) - chosen:
        row = rows.get(case)
        if row is None:
            unseen += 1
        elif row.is_due(today) or (retests and row.box == 1):
            over_cap += 1
        else:
            not_due += 1
            upcoming = row.next_due if upcoming is None else min(upcoming, row.next_due)
    return Remainder(not_due=not_due, over_cap=over_cap, unseen=unseen, next_due=upcoming)
