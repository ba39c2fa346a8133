"""Choose the cases of a run: what is near the change, what is due, and a draw of the rest.

Running a case does not strengthen the agent, so that nothing is learned by spacing runs out:
the question is which verdicts are stale. Each case gets a ticket by seed, id and the age of its
last verdict, squared, which is the value of a refresh for something that changes seldom and at
an unknown rate (Olston and Pandey, WWW 2008). Open pull requests draw by their own seed, and so
repeat one another less than if each took the oldest.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from heapq import nsmallest
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pytest_recall.cases.settings import Mode, Settings
from pytest_recall.files.errors import RecallError
from pytest_recall.schedule.boxes import AFFECTED, REJUDGED, UNSCHEDULED
from pytest_recall.schedule.suspects import named
from pytest_recall.trials.trial import Row, Trial

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

    from pytest_recall.schedule.changes import Changes


OFF, REF, FILE = "off", "git:", "file:"
OPTION = "--recall-near"


class NearRequest(NamedTuple):
    """What the command line names: tags, files with ids, and git refs; `off` that no case is near."""

    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    off: bool = False


def parse(given: Iterable[str]) -> NearRequest:
    """Return what the values of the option ask for. Raises RecallError for one that asks for nothing.

    A value is `off`, `file:PATH`, `git:REF`, or tags with commas between them; no tag has a `:`.
    """
    tags: list[str] = []
    files: list[str] = []
    refs: list[str] = []
    values = [value.strip() for value in given]
    for value in values:
        named = [tag.strip() for tag in value.split(",") if tag.strip()]
        if value == OFF:
            continue
        if value.startswith(FILE) and value != FILE:
            files.append(value[len(FILE) :])
        elif value.startswith(REF) and value != REF:
            refs.append(value[len(REF) :])
        elif named and not value.startswith((FILE, REF, "@")):
            tags += named
        elif value.startswith("@"):
            raise RecallError(f"{OPTION}: write file:{value[1:]}; pytest itself reads arguments from what `@` names")
        else:
            raise RecallError(f"{OPTION}: {value!r} names nothing; give tags, file:PATH, git:REF, or off")
    if OFF in values and len(values) > 1:
        raise RecallError(f"{OPTION}: `{OFF}` is given together with what it would leave out; give one of them")
    return NearRequest(tuple(dict.fromkeys(tags)), tuple(files), tuple(refs), OFF in values)


def touched(globs: Mapping[str, Iterable[str]], paths: Iterable[str]) -> list[str]:
    """Return the tags to whose `globs` one of `paths` fits, sorted. Paths are from the root of the repository."""
    every = list(paths)
    return sorted(tag for tag, lines in globs.items() if any(_spec(lines).match_files(every)))


def unmatched(globs: Mapping[str, Iterable[str]], paths: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the tag and the glob of each that none of `paths` fits; one that begins with `!` takes away from others."""
    every = list(paths)
    for tag, lines in globs.items():
        for line in lines:
            if not any(_spec([line.removeprefix("!")]).match_files(every)):
                yield tag, line


def _spec(lines: Iterable[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # Few runs have a change to look at.

    return GitIgnoreSpec.from_lines(lines)


class Pick(NamedTuple):
    """A case that was chosen, and the reason: "box 1", "due", "new", "all", "explicit", or one of the lottery."""

    case_id: str
    reason: str


class Room(NamedTuple):
    """How many cases of each kind a slice may have; None is all there are."""

    retests: int | None = None
    due: int | None = None
    new: int | None = None

    @classmethod
    def of(cls, rubric: Settings, mode: Mode) -> Room:
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
    rubric: Settings,
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
        retest.sort(key=lambda case: (not rows[case].failing, rows[case].last_tested, shuffle_key(seed, case)))
        retest = sorted(retest[: room.retests])
    due = sorted((case for case in seen if rows[case].is_due(today)), key=lambda case: (rows[case].next_due, case))
    new = sorted((case for case in pool if case not in rows), key=lambda case: shuffle_key(seed, case))
    if mode != "nightly":
        due = [case for case in due if rows[case].box > 1]
    return (
        [Pick(case, "box 1") for case in (retest if mode != "nightly" else ())]
        + [Pick(case, "due") for case in due[: room.due]]
        + [Pick(case, "new") for case in new[: room.new]]
    )


def shuffle_key(seed: str, case_id: str) -> bytes:
    """Return the case's place in the draw: its own hash, so that one case more moves one pick at most."""
    return hashlib.sha256(f"{seed}:{case_id}".encode()).digest()


RETEST, NEAR, DUE, NEW, IN_TURN, STALE = "box 1", "near", "due", "new", "in turn", "stale"
DEFERRED_BY = "deferred by"
"""Begins the reason of a case that another run has left for this one, before the name of its change."""


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
            if known is not None and trial.counts_for_schedule:
                changed[case_id] = None
        elif known is None:
            changed[case_id] = Unanswered(today)
        elif known.last_asked < today:
            changed[case_id] = Unanswered(today, known.days + 1)
    return changed


def with_changes(before: Mapping[str, Unanswered], changed: Mapping[str, Unanswered | None]) -> dict[str, Unanswered]:
    """Return the cases without a verdict after what has `changed`."""
    return {case_id: one for case_id, one in {**before, **changed}.items() if one is not None}


def merged_unanswered(
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


class Deferrals(NamedTuple):
    """The cases that this run leaves to another one, and those `waiting` that others left, each with their changes.

    Where these are to be asked `alone`, no other case is.
    """

    deferred: frozenset[str] = frozenset()
    waiting: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    alone: bool = False

    def reason(self, case_id: str) -> str:
        """Return why a case runs that another run has left."""
        return f"{DEFERRED_BY} {named(self.waiting[case_id])}"


NONE_DEFERRED = Deferrals()


def choose(
    cases: Iterable[str],
    rows: Mapping[str, Row],
    near: Collection[str],
    rubric: Settings,
    mode: Mode,
    today: date,
    seed: str,
    unanswered: Mapping[str, Unanswered] = MappingProxyType({}),
    changes: Changes | None = None,
    left: Deferrals = NONE_DEFERRED,
) -> list[Pick]:
    """Return today's slice of `cases`, of which those in `near` are touched by the change.

    Of a pull request whose cases were replayed `changes` says what that found: all that are affected are taken, however
    many, but for those that are `left` to another run, and only what is left of the size is drawn. A night takes what
    other runs have left first.

    What came to no verdict on several days, as `unanswered` says, rests for some days, unless the change touches it,
    and then has a share of the slice at the most: else it would stay the longest overdue for ever.
    The order of `cases` does not matter, and choosing from a choice and more cases is the same as choosing from all.
    """
    pool = set(cases)
    if mode in ("all", "observe"):
        return select(pool, rows, rubric, mode, today, seed)
    affected: list[Pick] = []
    judged: list[Pick] = []
    if left.alone:
        return [Pick(case_id, left.reason(case_id)) for case_id in sorted(pool & left.waiting.keys())]
    if mode == "nightly" and rubric.policy != "literal":
        affected = [Pick(case_id, left.reason(case_id)) for case_id in sorted(pool & left.waiting.keys())]
        affected = affected[: rubric.nightly_cases]
        pool -= {pick.case_id for pick in affected}
    if changes is not None and mode == "pr":
        pool -= left.deferred
        affected = [Pick(case_id, AFFECTED) for case_id in sorted(pool & changes.affected)]
        # What is only judged again costs a call of a judge, and has no place of the slice.
        judged = [Pick(case_id, REJUDGED) for case_id in sorted(pool & changes.rejudged)]
        pool -= changes.rejudged
        pool -= {pick.case_id for pick in affected}
    resting = {case_id for case_id in pool if case_id in unanswered and unanswered[case_id].rests}
    again = [case_id for case_id in resting if case_id in near or unanswered[case_id].next_asked <= today]
    if rubric.policy == "literal":
        room = Room.of(rubric, mode)
        held = select(again, rows, rubric, mode, today, seed, room.share(SHARE)) if again else []
        return select(pool - resting, rows, rubric, mode, today, seed, room.less(held)) + held
    whole = rubric.nightly_cases if mode == "nightly" else rubric.slice_cases
    size = None if whole is None else max(whole - len(affected), 0)
    share = None if size is None else min(max(size // SHARE, 1), size)

    def drawn(ids: Iterable[str], size: int | None) -> list[Pick]:
        if mode == "nightly":
            return night(ids, rows, size, today, seed, rubric.max_verdict_age)
        assert size is not None
        return pull_request(ids, rows, near, size, today, seed, rubric.near_share)

    held = drawn(again, share) if again else []
    return affected + judged + drawn(pool - resting, None if size is None else size - len(held)) + held


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
        stale += row is not None and longest is not None and age_of(row, today) >= longest
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
