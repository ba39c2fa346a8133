"""Lottery: a slice of a fixed size, near the change first, filled by a draw in which old evidence counts most.

Running a case does not strengthen the agent, so that nothing is learned by spacing runs out:
the question is which evidence is stale. Each case gets a ticket by seed, id and the age of its
last verdict, squared, which is the value of a refresh for something that changes seldom and at
an unknown rate (Olston and Pandey, WWW 2008). Open pull requests draw by their own seed, and so
repeat one another less than if each took the oldest.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from datetime import date
from heapq import nsmallest
from itertools import zip_longest

from pytest_recall.core.row import Row
from pytest_recall.core.selection import Pick

RETEST, NEAR, DUE, NEW, IN_TURN, STALE = "box 1", "near", "due", "new", "in turn", "stale"


def ticket(seed: str, case_id: str, age: int) -> float:
    """Return the place in the draw of a case whose last verdict is `age` days old: the least is drawn first.

    Exponential with rate `age` squared, so that chances are by weight, without replacement (Efraimidis and
    Spirakis 2006). It depends on nothing but its arguments: one case more moves no other's.
    """
    digest = hashlib.sha256(f"{seed}:{case_id}".encode()).digest()
    chance = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    return -math.log(chance) / max(age, 1) ** 2


def pull_request(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    near: Collection[str],
    size: int,
    today: date,
    seed: str,
    near_share: float = 0.9,
) -> list[Pick]:
    """Return `size` of `cases`, or all if there are no more, in the order in which they were taken.

    What `near_share` leaves of the size is for box 1 and the new, in turns; all other places are for those `near` the
    change. Where these are fewer, box 1, the due and the new have theirs in turns, and what is left is filled by a
    draw from all others. Each case is of one kind, so that choosing from a choice and more cases is the same as
    choosing from all of them; one near the change that is in box 1 is of box 1 if it is failing.
    """
    streams: dict[str, list[str]] = {RETEST: [], NEAR: [], DUE: [], NEW: []}
    rest = []
    for case_id in set(cases):
        row = rows.get(case_id)
        touched = case_id in near
        # A case that is in box 1 since it is young is asked for the sake of the change, like all that is near.
        if row is not None and row.box == 1 and (row.failing or not touched):
            streams[RETEST].append(case_id)
        elif touched:
            streams[NEAR].append(case_id)
        elif row is None:
            streams[NEW].append(case_id)
        elif row.is_due(today):
            streams[DUE].append(case_id)
        else:
            rest.append(case_id)

    def drawn(reason: str, ids: Collection[str], count: int) -> list[Pick]:
        tickets = ((ticket(seed, one, age_of(rows.get(one), today)), one) for one in ids)
        return [Pick(one, reason) for _, one in nsmallest(count, tickets)]

    told = {reason: drawn(reason, ids, size) for reason, ids in streams.items()}
    kept = _in_turns(told[RETEST], told[NEW])[: size - round(size * near_share)]
    first = told[NEAR][: size - len(kept)] + kept
    # Some cases are always due, a tenth of all on a usual day, and a night takes them: they have no place of their own.
    others = _in_turns(*([pick for pick in told[kind] if pick not in kept] for kind in (RETEST, DUE, NEW)))
    first += others[: size - len(first)]
    # Of all others there are most, and none of them is drawn where nothing is left of the size.
    return first + drawn(IN_TURN, rest, size - len(first))


def _in_turns(*streams: list[Pick]) -> list[Pick]:
    """Return the picks of all streams, one of each in turns."""
    return [pick for turn in zip_longest(*streams) for pick in turn if pick is not None]


def night(
    cases: Iterable[str], rows: Mapping[str, Row], size: int | None, today: date, seed: str, longest: int | None = None
) -> list[Pick]:
    """Return `size` of `cases`, or all if there are no more.

    First those whose last verdict is `longest` days old or older, then those of box 1 that failed, then new ones, of
    which nothing is known at all, then the others of box 1, then what the calendar asks for, and then whatever is
    stalest; each the oldest first. Without a size all but the last.
    """
    groups: dict[tuple[int, int], list[Pick]] = {}
    for case_id in set(cases):
        row = rows.get(case_id)
        age = age_of(row, today)
        if row is None:
            place, reason = 2, NEW
        elif longest is not None and age >= longest:
            place, reason = 0, STALE
        elif row.box == 1:
            place, reason = (1 if row.failing else 3), RETEST
        elif row.is_due(today):
            place, reason = 4, DUE
        elif size is None:
            continue
        else:
            place, reason = 5, IN_TURN
        groups.setdefault((place, -age), []).append(Pick(case_id, reason))
    chosen: list[Pick] = []
    for key in sorted(groups):
        if size is not None and len(chosen) >= size:
            break
        # The draw decides among equals alone, and most nights end before most of them.
        chosen += sorted(groups[key], key=lambda pick: (ticket(seed, pick.case_id, 1), pick))
    return chosen[:size]


def age_of(row: Row | None, today: date) -> int:
    """Return how many days old the last verdict is; one day for a case that has none, which all of them share."""
    return 1 if row is None else max((today - row.last_tested).days, 0)
