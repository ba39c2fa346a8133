"""Merging: the rows of two branches become those that all their verdicts together would have left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from itertools import groupby, product
from typing import Any

from pytest_recall.core.inferred import BY_HAND, BY_VERDICTS, Step, explanations, last_step, replayed, standing
from pytest_recall.core.row import Row
from pytest_recall.core.schedule import Quarantine

_KEPT = tuple(name for name in Row._fields if name not in (*BY_VERDICTS, *BY_HAND))


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

    On one day fails come last, so that none is lost: nobody knows which came first. `based` says that
    `base` is known, where None is a case that was new. Where a side's verdicts cannot be told from
    its row, its last one counts, and the lower box. The sides may be swapped.
    """
    if ours == theirs or (based and theirs == base):
        return ours
    if based and ours == base:
        return theirs
    early, late = sorted((ours, theirs), key=_order)
    try:
        merged = _folded(base, early, late, quarantine) if based else None
        merged = merged or _cautious(base, early, late, quarantine)
    except OverflowError:  # A day that has no next one: somebody has edited a row.
        merged = min(early, late, key=lambda row: (row.box, row.pass_streak))
    return merged._replace(**{name: _kept(name, base, early, late, based) for name in _KEPT})


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
    ways: list[list[list[Step] | None]] = [[*explanations(base, row, quarantine)] or [None] for row in sides]
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
    base: Row | None, sides: tuple[Row, Row], steps: Sequence[list[Step] | None], quarantine: Quarantine | None
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


def _interleaved(ours: Sequence[Step], theirs: Sequence[Step]) -> list[tuple[int, Step]]:
    """Return the steps of both by day, each with its side; what one did on a day stays together."""
    shared = {step for step in ours if step.trial is not None and step.trial.pr is not None} & set(theirs)
    blocks = []
    for side, steps in enumerate((ours, [step for step in theirs if step not in shared])):
        for day, found in groupby(steps, key=_day):
            block = list(found)
            blocks.append((day, _rank(block), side, block))
    blocks.sort(key=lambda block: block[:3])
    return [(side, step) for _, _, side, block in blocks for step in block]


def _day(step: Step) -> date:
    return step.date


def _rank(block: Sequence[Step]) -> tuple[bool, bool]:
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
