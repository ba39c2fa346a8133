"""Merge rows of two branches, and recover the verdicts between two states of a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby, product
from typing import Any, NamedTuple

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule import suspects
from pytest_recall.schedule.boxes import INTERVALS, LAST_BOX, back_in_box_1, review
from pytest_recall.trials import detector
from pytest_recall.trials.conditions import DIGITS
from pytest_recall.trials.detector import NOTHING, CaseLikelihood
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.trial import Outcome, Row, Trial

BY_VERDICTS = (
    *("box", "pass_streak", "last_tested", "next_due"),
    *("last_pr", "last_model", "failure_note", "failure_pr"),
)
"""The fields of a row that every verdict sets."""
BY_HAND = ("lapses", "quarantined", "until", "owner")
"""Those that verdicts set, and people."""
MOST = 50
"""More verdicts than this are not looked for: no one keeps a branch for so long."""


class RowStep(NamedTuple):
    """What happened to a row on a day: a verdict, or, where `trial` is None, a reset on a swap of the model."""

    date: date
    trial: Trial | None

    @property
    def drops(self) -> bool:
        """Whether the step sends the row back to box 1."""
        return self.trial is None or self.trial.outcome is Outcome.FAILED


def replayed(row: Row | None, steps: Iterable[RowStep], quarantine: Quarantine | None = None) -> Row | None:
    """Return the row after `steps`, in their order."""
    for step in steps:
        if step.trial is not None:
            row = review(row, step.trial, step.date, quarantine)
        elif row is not None:
            row = back_in_box_1(row, step.date)
    return row


def last_step(row: Row) -> RowStep:
    """Return the last verdict that the row had."""
    return RowStep(row.last_tested, _failed(row) if row.failing else _passed(row))


def explanations(before: Row | None, after: Row, quarantine: Quarantine | None = None) -> list[list[RowStep]]:
    """Return all ways that are known in which one row has become the other, the likely ones first; none if none is.

    A row keeps its last verdict, the day on which it was put into its box (`next_due`), its passes
    since the last fail and its lapses. So one verdict is found exactly, and so is an early pass
    after it. Of several, the days of the earlier ones are assumed: passes on the first day on which
    they could promote; fails, and what followed them, as late as it can be. That keeps a
    case in a low box rather than in a high one. Whatever is assumed leads to just this row,
    but for quarantine and lapses if someone changed these by hand: such ways come last.
    """
    alike: list[list[RowStep]] = []
    by_hand: list[list[RowStep]] = []
    try:
        for steps in _guesses(before, after):
            found = replayed(before, steps, quarantine)
            if found is None or any(getattr(found, name) != getattr(after, name) for name in BY_VERDICTS):
                continue
            (alike if standing(found) == standing(after) else by_hand).append(steps)
    except OverflowError:  # Days that no calendar has: someone has edited the row.
        return []
    return alike or by_hand[:1]


def standing(row: Row) -> tuple[Any, ...]:
    """Return what people may change by hand, with `recall state quarantine`: the fields `BY_HAND`."""
    return tuple(getattr(row, name) for name in BY_HAND)


def _guesses(before: Row | None, after: Row) -> Iterator[list[RowStep]]:
    """Yield ways in which `after` may have come about, the likely first; not all of them fit."""
    lapses = max(0, after.lapses - (before.lapses if before else 0))
    passed = _passed(after)
    own = 1 if before is not None and before.box > 1 else 0

    def drops(day: date, fail: Trial) -> list[RowStep]:
        again = [RowStep(day, assumed_trial("", Outcome.PASSED)), RowStep(day, fail)] * min(max(0, lapses - own), MOST)
        return [RowStep(day, fail), *again]

    if after.failing:
        yield drops(after.last_tested, _failed(after))
        return
    placed = after.next_due - timedelta(days=INTERVALS[after.box])
    early = [RowStep(after.last_tested, passed)] if after.last_tested > placed else []
    gained = min(after.pass_streak - (before.pass_streak if before else 0), MOST)
    if before is not None and gained == 0:
        yield [RowStep(after.last_tested, passed)]
    if before is not None and gained > 0:
        first = before.last_tested if before.box == 1 else max(before.last_tested, before.next_due)
        yield _passes([*_from(first, before.box, gained - 1), placed], passed) + early
    if gained > 0:
        yield _passes(_until(placed, before.box if before else 0, gained), passed) + early
    if after.pass_streak == 0:
        yield [RowStep(after.next_due, None)]
        return
    days = _until(placed, 1, min(after.pass_streak, MOST))
    yield [*drops(days[0], assumed_trial("", Outcome.FAILED)), *_passes(days, passed), *early]
    yield [RowStep(days[0], None), *_passes(days, passed), *early]


def _from(first: date, box: int, count: int) -> list[date]:
    """Return the earliest days of so many promotions out of `box`."""
    days = []
    for _ in range(count):
        days.append(first)
        box = min(box + 1, LAST_BOX)
        first += timedelta(days=INTERVALS[box])
    return days


def _until(last: date, box: int, count: int) -> list[date]:
    """Return the latest days of so many promotions out of `box`, 0 for a new case, that end on the day `last`."""
    days = [last]
    for passed in range(count - 1, 0, -1):
        reached = min(box + passed, LAST_BOX)
        last -= timedelta(days=INTERVALS[reached] if reached > 1 else 0)
        days.append(last)
    return days[::-1]


def _passes(days: Sequence[date], last: Trial) -> list[RowStep]:
    unknown = assumed_trial("", Outcome.PASSED)
    return [*(RowStep(day, unknown) for day in days[:-1]), RowStep(days[-1], last)]


def _passed(row: Row) -> Trial:
    return assumed_trial("", Outcome.PASSED, pr=row.last_pr, model=row.last_model)


def _failed(row: Row) -> Trial:
    return assumed_trial("", Outcome.FAILED, row.failure_note or "", pr=row.last_pr, model=row.last_model)


_BESIDE = ("touched", *NOTHING.fields)
_KEPT = tuple(name for name in Row._fields if name not in (*BY_VERDICTS, *BY_HAND, *_BESIDE))


def merge_rows(
    base: Mapping[str, Row] | None,
    ours: Mapping[str, Row],
    theirs: Mapping[str, Row],
    quarantine: Quarantine | None = None,
) -> dict[str, Row]:
    """Return the merged rows by case id, sorted; `base` is what both began with, None if that is not known.

    What only one side has done holds. A row that one side has deleted and the other left alone is gone.
    """
    merged: dict[str, Row] = {}
    for case_id in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(case_id), theirs.get(case_id)
        before = None if base is None else base.get(case_id)
        if one is not None and other is not None:
            merged[case_id] = merge_row(before, one, other, quarantine, based=base is not None)
        elif (row := one or other) is not None and row != before:
            merged[case_id] = row
    return merged


def merge_row(
    base: Row | None, ours: Row, theirs: Row, quarantine: Quarantine | None = None, *, based: bool = True
) -> Row:
    """Return the row after the verdicts of both sides, in the order of their days.

    On one day fails come last, so that none is lost: the order is unknown. `based` says that
    `base` is known, where None is a case that was new. Where a side's verdicts cannot be told from
    its row, its last one counts, and the lower box. The sides may be swapped.
    """
    if ours == theirs or (based and theirs == base):
        return ours
    if based and ours == base:
        return theirs
    early, late = sorted((ours, theirs), key=_order)
    beside = _beside(base, early, late, based)
    if based and base is not None:
        still, one, other = (row._replace(**beside) for row in (base, early, late))
        if still in (one, other):
            return _sure(other if one == still else one)  # One of the sides had no verdict.
    try:
        merged = _folded(base, early, late, quarantine) if based else None
        merged = merged or _cautious(base, early, late, quarantine)
    except OverflowError:  # A day that has no next one: someone has edited a row.
        merged = min(early, late, key=lambda row: (row.box, row.pass_streak))
    kept = {name: _kept(name, base, early, late, based) for name in _KEPT}
    return _sure(merged._replace(**kept, **beside))


def _beside(base: Row | None, ours: Row, theirs: Row, based: bool) -> dict[str, Any]:
    """Return the fields that are merged by themselves, whatever the verdicts of both sides come to."""
    before = CaseLikelihood.of(base) if based else None
    known = detector.merged(before, CaseLikelihood.of(ours), CaseLikelihood.of(theirs))
    touched = suspects.merged(base.touched if based and base is not None else None, ours.touched, theirs.touched)
    return {"touched": touched, **known.fields}


def _sure(row: Row) -> Row:
    """Return the row with a ratio of 1 if it is known that the case fails: there is nothing left to confirm."""
    return row._replace(evidence=1.0) if row.failing else row


def _order(row: Row) -> tuple[Any, ...]:
    """Sort rows by their last verdict, fails behind passes; the rest makes sides exchangeable."""
    return (row.last_tested, row.failing, *_number(row.last_pr), *map(_sortable, row))


def _sortable(value: object) -> str:
    return "" if value is None else f"={value:05}" if isinstance(value, int) else f"={value}"


def _number(pr: str | None) -> tuple[int, str]:
    """Sort pull requests by number."""
    return (int(pr), "") if pr and pr.isascii() and pr.isdigit() else (0, pr or "")


def _folded(base: Row | None, early: Row, late: Row, quarantine: Quarantine | None) -> Row | None:
    """Return the row after the steps of both sides, None if these are not to be told.

    Where there are several ways in which a side may have come about, it is the one that leaves the lowest box.
    """
    sides = (early, late)
    ways: list[list[list[RowStep] | None]] = [[*explanations(base, row, quarantine)] or [None] for row in sides]
    likely = _by(base, sides, [way[0] for way in ways], quarantine)
    if likely is None or any(way[0] is not None and len(way[0]) == 1 for way in ways):
        return likely  # What one verdict does is known.
    # Where both sides have several, their days are assumed, and with other days the case might be in a lower box: in
    # none that is lower than those of both, since further verdicts of the other side only add to one's own.
    found = filter(None, (_by(base, sides, steps, quarantine) for steps in product(*ways)))
    merged = min(found, key=_place)
    lower = min(sides, key=_place)
    if merged.box <= lower.box:
        return merged
    return merged._replace(box=lower.box, pass_streak=lower.pass_streak, next_due=min(merged.next_due, lower.next_due))


def _place(row: Row) -> tuple[int, int]:
    return row.box, row.pass_streak


def _by(
    base: Row | None, sides: tuple[Row, Row], steps: Sequence[list[RowStep] | None], quarantine: Quarantine | None
) -> Row | None:
    """Return the row after these `steps` of both sides, None if those of one are not to be told."""
    order = _interleaved(*(found or [last_step(row)] for found, row in zip(steps, sides, strict=True)))
    by_hand = [
        found is not None and standing(replayed(base, found, quarantine) or row) != standing(row)
        for found, row in zip(steps, sides, strict=True)
    ]
    owners = [side for side, _ in groupby(side for side, _ in order)]
    if len(owners) == 2 and (last := steps[owners[1]]) is not None:
        # All that one side did comes behind all of the other, whose row is as good as its steps, or better.
        merged = replayed(sides[owners[0]], last, quarantine)
        by_hand[owners[0]] = False
    elif None not in steps:
        merged = replayed(base, [step for _, step in order], quarantine)
    else:
        return None
    for row, changed in zip(sides, by_hand, strict=True):
        if changed and merged is not None:
            merged = merged._replace(**dict(zip(BY_HAND, standing(row), strict=True)))
    return merged


def _interleaved(ours: Sequence[RowStep], theirs: Sequence[RowStep]) -> list[tuple[int, RowStep]]:
    """Return the steps of both by day, each with its side; what one did on a day stays together."""
    shared = {step for step in ours if step.trial is not None and step.trial.pr is not None} & set(theirs)
    blocks = []
    for side, steps in enumerate((ours, [step for step in theirs if step not in shared])):
        for day, found in groupby(steps, key=_day):
            block = list(found)
            blocks.append((day, _rank(block), side, block))
    blocks.sort(key=lambda block: block[:3])
    return [(side, step) for _, _, side, block in blocks for step in block]


def _day(step: RowStep) -> date:
    return step.date


def _rank(block: Sequence[RowStep]) -> tuple[bool, bool]:
    return block[-1].drops, any(step.drops for step in block)


def _cautious(base: Row | None, early: Row, late: Row, quarantine: Quarantine | None) -> Row:
    """Return the row if the later side did nothing but its last verdict, or its own row if that is in a lower box."""
    over = replayed(early, [last_step(late)], quarantine) or late
    lower = min(over, late, key=lambda row: (row.box, row.pass_streak))
    since = [row for row in (early, late) if row.quarantined is not None and (base is None or row != base)]
    apart = min(since, key=lambda row: str(row.quarantined)) if since else lower
    lapses = max(early.lapses, late.lapses, over.lapses)
    return lower._replace(lapses=lapses, quarantined=apart.quarantined, until=apart.until, owner=apart.owner)


def _kept(name: str, base: Row | None, early: Row, late: Row, based: bool) -> Any:
    """Return a field that no verdict of ours sets: of the side that has changed it, or of the later verdict."""
    before = getattr(base, name) if based and base is not None else None
    one, other = getattr(early, name), getattr(late, name)
    return one if based and base is not None and other == before else other


_CASE = re.compile(r"\bcase=([0-9a-f]+)")


def moved(rows: Mapping[str, Row], gone: Iterable[str], fingerprints: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return which of the ids that are `gone` are likely new ones now, as (old, new).

    `fingerprints` are those of cases without a row, by id. A row knows that of its last pass. Where several have the
    same one, as copies do, nothing is told.
    """
    old = {case_id: found[1] for case_id in gone if (found := _CASE.search(rows[case_id].passed_under or ""))}
    new = {case_id: text[:DIGITS] for case_id, text in fingerprints.items() if text}
    often = Counter(old.values()), Counter(new.values())
    by_print = {text: case_id for case_id, text in new.items()}
    return sorted(
        (case_id, by_print[text])
        for case_id, text in old.items()
        if text in by_print and often[0][text] == often[1][text] == 1
    )


def continued(old: Row, new: Row | None) -> Row:
    """Return the row of a case under its new id: that under the old one, and the verdict that it has had since."""
    if new is None or new.last_tested < old.last_tested:
        return old
    row = replayed(old, [last_step(new)]) or old
    known = detector.merged(NOTHING, CaseLikelihood.of(old), CaseLikelihood.of(new))
    return _sure(row._replace(touched=suspects.merged(None, old.touched, new.touched), **known.fields))
