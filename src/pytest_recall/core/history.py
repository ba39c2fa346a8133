"""History: the verdicts of past runs, which of their fails were regressions, and what another schedule had seen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_recall.core.record import Record
from pytest_recall.core.schedule import UNSCHEDULED
from pytest_recall.core.series import graded, series
from pytest_recall.core.trial import Outcome


class Line(BaseModel):
    """A verdict of a run that ran everything, as a line of a table has it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: date
    case_id: str = Field(min_length=1)
    outcome: Outcome
    pr: str | None = None

    @field_validator("date", mode="before")
    @classmethod
    def _is_written(cls, given: object) -> object:
        if isinstance(given, int | float):
            raise ValueError("write a date like 2026-01-31")  # pydantic takes a number for seconds since 1970.
        return given

    @field_validator("pr", mode="before")
    @classmethod
    def _as_text(cls, given: object) -> object:
        return str(given) if type(given) is int else given


class Past(NamedTuple):
    """A run of the past: True for each case that passed, False for one that failed; the others are not known.

    `pr` is None for a run on the main branch. `confirmed` are the fails that the run itself asked again.
    """

    day: date
    pr: str | None
    verdicts: dict[str, bool]
    confirmed: frozenset[str] = frozenset()


class Regression(NamedTuple):
    """A case that passed before and then failed for good: in the runs from `start` up to `end`, which is not one."""

    case_id: str
    start: int
    end: int


class Backtest(NamedTuple):
    """What a schedule would have come to.

    Of the `chosen` cases of all `runs` the history has no verdict on `unknown`; of the others `fails` are seen.
    `red` are the pull requests in which a case failed that had passed before, and `caught` those of them in which
    one of these is chosen. Of `regressed` regressions `found` are, `missed` had passed again, or the history was
    over, before they were chosen, and `undecided` were chosen when the history had no verdict. `delay`, `p95` and
    `longest` are days from the first fail on record to the first that is seen; None without any.
    """

    policy: str
    runs: int
    chosen: int
    unknown: int
    fails: int
    red: int
    caught: int
    regressed: int
    found: int
    missed: int
    undecided: int
    delay: float | None
    p95: float | None
    longest: float | None


def past_of(record: Record) -> Past | None:
    """Return what a run has told of its cases; None for one that a person chose, or without a verdict."""
    if not record.header.scheduled:
        return None
    asked = series(record.trials)
    told = {
        case_id: trial.outcome is Outcome.PASSED
        for case_id, trial in graded(record.trials).items()
        if trial.outcome.is_verdict and trial.evidence and trial.reason not in UNSCHEDULED
    }
    again = frozenset(
        case_id
        for case_id, passed in told.items()
        if not passed and sum(one.outcome is Outcome.FAILED for one in asked[case_id]) > 1
    )
    return Past(date.fromisoformat(record.header.date), record.header.pr, told, again) if told else None


def past_of_lines(lines: Iterable[Line]) -> list[Past]:
    """Return the runs of a table, one for each day and pull request."""
    found: dict[tuple[date, str | None], dict[str, bool]] = {}
    for line in lines:
        if line.outcome.is_verdict:
            found.setdefault((line.date, line.pr), {})[line.case_id] = line.outcome is Outcome.PASSED
    return [Past(day, pr, verdicts) for (day, pr), verdicts in found.items()]


def in_order(runs: Iterable[Past]) -> list[Past]:
    """Return runs by day, those of one pull request on one day as one, with the last verdict on each case."""
    found: dict[tuple[date, str | None], Past] = {}
    for run in runs:
        if (known := found.get((run.day, run.pr))) is None:
            found[run.day, run.pr] = run
        else:
            confirmed = (known.confirmed - run.verdicts.keys()) | run.confirmed
            found[run.day, run.pr] = known._replace(verdicts=known.verdicts | run.verdicts, confirmed=confirmed)
    return sorted(found.values(), key=lambda run: run.day)


def regressions(runs: Sequence[Past]) -> Iterator[Regression]:
    """Yield the regressions in `runs`, in the order of their starts.

    A case has failed for good where two verdicts in a row, or one that was confirmed, are fails after a pass.
    A single fail between passes may be chance.
    """
    failing: dict[str, tuple[int, int, bool]] = {}
    passed: set[str] = set()
    found = []
    for index, run in enumerate(runs):
        for case_id, is_pass in run.verdicts.items():
            if is_pass:
                passed.add(case_id)
                if case_id in failing:
                    start, count, confirmed = failing.pop(case_id)
                    if count > 1 or confirmed:
                        found.append(Regression(case_id, start, index))
            elif case_id in passed:
                start, count, confirmed = failing.get(case_id, (index, 0, False))
                failing[case_id] = (start, count + 1, confirmed or case_id in run.confirmed)
    for case_id, (start, count, confirmed) in failing.items():
        if count > 1 or confirmed:
            found.append(Regression(case_id, start, len(runs)))
    yield from sorted(found, key=lambda one: (one.start, one.case_id))


def turned_red(runs: Sequence[Past]) -> dict[int, set[str]]:
    """Return, by the place of a pull request's run, the cases that failed there and whose last verdict was a pass."""
    last: dict[str, bool] = {}
    found: dict[int, set[str]] = {}
    for index, run in enumerate(runs):
        fails = {case_id for case_id, passed in run.verdicts.items() if not passed and last.get(case_id)}
        if run.pr is not None and fails:
            found[index] = fails
        last |= run.verdicts
    return found
