"""Inferred: the verdicts that lie between two states of a row, as far as the row still shows them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

from pytest_recall.core.row import Row
from pytest_recall.core.schedule import INTERVALS, LAST_BOX, Quarantine, back_in_box_1, review
from pytest_recall.core.trial import Outcome, Trial, Verdict

BY_VERDICTS = (
    *("box", "pass_streak", "last_tested", "next_due"),
    *("last_pr", "last_model", "failure_note", "failure_pr"),
)
"""The fields of a row that every verdict sets."""
BY_HAND = ("lapses", "quarantined", "until", "owner")
"""Those that verdicts set, and people."""
MOST = 50
"""More verdicts than this are not looked for: nobody keeps a branch for so long."""


class Step(NamedTuple):
    """What happened to a row on a day: a verdict, or, where `trial` is None, a reset on a swap of the model."""

    date: date
    trial: Trial | None

    @property
    def drops(self) -> bool:
        """Whether the step sends the row back to box 1."""
        return self.trial is None or self.trial.outcome is Outcome.FAILED


def replayed(row: Row | None, steps: Iterable[Step], quarantine: Quarantine | None = None) -> Row | None:
    """Return the row after `steps`, in their order."""
    for step in steps:
        if step.trial is not None:
            row = review(row, step.trial, step.date, quarantine)
        elif row is not None:
            row = back_in_box_1(row, step.date)
    return row


def last_step(row: Row) -> Step:
    """Return the last verdict that the row had."""
    return Step(row.last_tested, _failed(row) if row.failing else _passed(row))


def between(before: Row | None, after: Row, quarantine: Quarantine | None = None) -> list[Step] | None:
    """Return the steps that lead from one row to the other; None if no verdicts do.

    A row keeps its last verdict, the day on which it was put into its box (`next_due`), its passes
    since the last fail and its lapses. So one verdict is found exactly, and so is an early pass
    after it. Of several, the days of the earlier ones are assumed: passes on the first day on which
    they could promote; fails, and what followed them, as late as it can be. That keeps a
    case in a low box rather than in a high one. Whatever is assumed leads to just this row,
    but for quarantine and lapses if somebody changed these by hand.
    """
    return next(iter(explanations(before, after, quarantine)), None)


def explanations(before: Row | None, after: Row, quarantine: Quarantine | None = None) -> list[list[Step]]:
    """Return all ways that are known in which one row has become the other, the likely ones first.

    Those that lead to another quarantine or other lapses come last: somebody has changed these by hand.
    """
    alike: list[list[Step]] = []
    by_hand: list[list[Step]] = []
    try:
        for steps in _guesses(before, after):
            found = replayed(before, steps, quarantine)
            if found is None or any(getattr(found, name) != getattr(after, name) for name in BY_VERDICTS):
                continue
            (alike if standing(found) == standing(after) else by_hand).append(steps)
    except OverflowError:  # Days that no calendar has: somebody has edited the row.
        return []
    return alike or by_hand[:1]


def standing(row: Row) -> tuple[Any, ...]:
    """Return what people may change by hand, with `recall quarantine`: the fields `BY_HAND`."""
    return tuple(getattr(row, name) for name in BY_HAND)


def _guesses(before: Row | None, after: Row) -> Iterator[list[Step]]:
    """Yield ways in which `after` may have come about, the likely first; not all of them fit."""
    lapses = max(0, after.lapses - (before.lapses if before else 0))
    passed = _passed(after)
    own = 1 if before is not None and before.box > 1 else 0

    def drops(day: date, fail: Trial) -> list[Step]:
        again = [Step(day, Trial("", Outcome.PASSED)), Step(day, fail)] * min(max(0, lapses - own), MOST)
        return [Step(day, fail), *again]

    if after.failing:
        yield drops(after.last_tested, _failed(after))
        return
    placed = after.next_due - timedelta(days=INTERVALS[after.box])
    early = [Step(after.last_tested, passed)] if after.last_tested > placed else []
    gained = min(after.pass_streak - (before.pass_streak if before else 0), MOST)
    if before is not None and gained == 0:
        yield [Step(after.last_tested, passed)]
    if before is not None and gained > 0:
        first = before.last_tested if before.box == 1 else max(before.last_tested, before.next_due)
        yield _passes([*_from(first, before.box, gained - 1), placed], passed) + early
    if gained > 0:
        yield _passes(_until(placed, before.box if before else 0, gained), passed) + early
    if after.pass_streak == 0:
        yield [Step(after.next_due, None)]
        return
    days = _until(placed, 1, min(after.pass_streak, MOST))
    yield [*drops(days[0], Trial("", Outcome.FAILED)), *_passes(days, passed), *early]
    yield [Step(days[0], None), *_passes(days, passed), *early]


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


def _passes(days: Sequence[date], last: Trial) -> list[Step]:
    unknown = Trial("", Outcome.PASSED)
    return [*(Step(day, unknown) for day in days[:-1]), Step(days[-1], last)]


def _passed(row: Row) -> Trial:
    return Trial("", Outcome.PASSED, pr=row.last_pr, model=row.last_model)


def _failed(row: Row) -> Trial:
    why = (Verdict(passed=False, reason=row.failure_note or ""),)
    return Trial("", Outcome.FAILED, verdicts=why, pr=row.last_pr, model=row.last_model)
