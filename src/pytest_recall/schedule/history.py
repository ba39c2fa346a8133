"""Read the verdicts of past runs, and estimate from them how a team works."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from itertools import pairwise
from math import fsum, isfinite
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_recall.schedule.boxes import UNSCHEDULED
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded, series
from pytest_recall.trials.trial import Outcome


class VerdictLine(BaseModel):
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


class PastRun(NamedTuple):
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


def past_of(record: Record) -> PastRun | None:
    """Return what a run has told of its cases; None for one that a person chose, or without a verdict."""
    if not record.header.scheduled:
        return None
    asked = series(record.trials)
    told = {
        case_id: trial.outcome is Outcome.PASSED
        for case_id, trial in graded(record.trials).items()
        if trial.outcome.is_verdict
        and trial.counts_for_schedule
        and not trial.is_doubted
        and trial.reason not in UNSCHEDULED
    }
    again = frozenset(
        case_id
        for case_id, passed in told.items()
        if not passed and sum(one.outcome is Outcome.FAILED for one in asked[case_id]) > 1
    )
    return PastRun(date.fromisoformat(record.header.date), record.header.pr, told, again) if told else None


def past_of_lines(lines: Iterable[VerdictLine]) -> list[PastRun]:
    """Return the runs of a table, one for each day and pull request."""
    found: dict[tuple[date, str | None], dict[str, bool]] = {}
    for line in lines:
        if line.outcome.is_verdict:
            found.setdefault((line.date, line.pr), {})[line.case_id] = line.outcome is Outcome.PASSED
    return [PastRun(day, pr, verdicts) for (day, pr), verdicts in found.items()]


def in_order(runs: Iterable[PastRun]) -> list[PastRun]:
    """Return runs by day, those of one pull request on one day as one, with the last verdict on each case."""
    found: dict[tuple[date, str | None], PastRun] = {}
    for run in runs:
        if (known := found.get((run.day, run.pr))) is None:
            found[run.day, run.pr] = run
        else:
            confirmed = (known.confirmed - run.verdicts.keys()) | run.confirmed
            found[run.day, run.pr] = known._replace(verdicts=known.verdicts | run.verdicts, confirmed=confirmed)
    return sorted(found.values(), key=lambda run: run.day)


def regressions(runs: Sequence[PastRun]) -> Iterator[Regression]:
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


def turned_red(runs: Sequence[PastRun]) -> dict[int, set[str]]:
    """Return, by the place of a pull request's run, the cases that failed there and whose last verdict was a pass."""
    last: dict[str, bool] = {}
    found: dict[int, set[str]] = {}
    for index, run in enumerate(runs):
        fails = {case_id for case_id, passed in run.verdicts.items() if not passed and last.get(case_id)}
        if run.pr is not None and fails:
            found[index] = fails
        last |= run.verdicts
    return found


FEW_PULLS, FEW_DAYS = 10, 7
FEW_SERIES = 200
FEW_PRICED = 20
FEW_BROKEN, FEW_CASE_DAYS = 5, 5000
"""Below these an estimate would say little more than chance."""
_DAY = 86_400


class Habit(NamedTuple):
    """A figure of a team: None where the journals do not have enough, and `told`, of how much it is."""

    value: float | None
    told: str


class Setting(NamedTuple):
    """A figure that a simulation goes by, None where it is unknown, and where it is from.

    `source` is `given`, `measured` in a history of changes, `estimated` or `assumed`; `told` says more of it.
    """

    value: float | None
    source: str
    told: str


def habits(records: Iterable[Record]) -> dict[str, Habit]:
    """Return what `records`, the oldest first, say of a team, by name; nothing if there are none.

    These are `pulls`, `open_days`, `drift`, `flaky` and `usd`: rates are a day, times in days, and money in
    US dollars a trial, at list price.
    """
    runs = 0
    days: set[date] = set()
    pulls: dict[str, list[str]] = {}
    main: dict[str, list[tuple[date, bool, bool]]] = {}
    firsts: list[bool] = []
    prices: list[float] = []
    unpriced = 0
    for record in records:
        header = record.header
        runs += 1
        day = date.fromisoformat(header.date)
        days.add(day)
        if header.pr is not None:
            pulls.setdefault(header.pr, []).append(header.started)
        asked = series(record.trials)
        for case_id, trial in graded(record.trials).items():
            if not (trial.outcome.is_verdict and trial.counts_for_schedule):
                continue
            each = [one.outcome for one in asked[case_id]]
            if trial.rule and (trial.outcome is Outcome.PASSED or trial.is_doubted):
                firsts.append(each[0] is Outcome.FAILED)
            if trial.is_doubted:
                continue
            if header.pr is None:
                confirmed = each.count(Outcome.FAILED) > 1
                main.setdefault(case_id, []).append((day, trial.outcome is Outcome.PASSED, confirmed))
        for trial in record.trials:
            if trial.arm or not trial.calls:
                continue  # Without a call that was seen nothing is known of what it took.
            costs = [call.listed for call in trial.calls]
            known = [cost for cost in costs if cost is not None and isfinite(cost) and cost >= 0]
            if len(known) == len(costs):
                prices.append(fsum(known))
            else:
                unpriced += 1
    if not runs:
        return {}
    return {
        "pulls": _pulls(pulls, days, runs),
        "open_days": _open_days(pulls),
        "drift": _drift(main),
        "flaky": _flaky(firsts),
        "usd": _usd(prices, unpriced),
    }


def settled(
    given: Mapping[str, float | None], seen: Mapping[str, Habit], assumed: Mapping[str, float | None]
) -> dict[str, Setting]:
    """Return what holds, by the names in `assumed`: what is given, else what was seen, else what is assumed."""
    found = {}
    for name, usual in assumed.items():
        told = seen[name].told if name in seen else ""
        if (value := given.get(name)) is not None:
            found[name] = Setting(value, "given", "")
        elif name in seen and (value := seen[name].value) is not None:
            found[name] = Setting(value, "estimated", told)
        else:
            found[name] = Setting(usual, "assumed", told)
    return found


def _pulls(pulls: Mapping[str, list[str]], days: set[date], runs: int) -> Habit:
    span = (max(days) - min(days)).days + 1 if days else 0
    told = f"pull requests: {len(pulls):,}, days: {span:,}, runs: {runs:,}"
    if len(pulls) < FEW_PULLS or span < FEW_DAYS:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(len(pulls) / span, told)


def _open_days(pulls: Mapping[str, list[str]]) -> Habit:
    from statistics import median

    spans = []
    for started in pulls.values():
        times = sorted(datetime.fromisoformat(time) for time in started if time)
        if len(times) > 1:
            spans.append((times[-1] - times[0]).total_seconds() / _DAY)
    told = f"pull requests with several runs: {len(spans):,}"
    middle = median(spans) if spans else 0.0
    if len(spans) < FEW_PULLS or middle <= 0:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(middle, f"{told}; from the first run to the last, so they were open longer")


def _drift(main: Mapping[str, list[tuple[date, bool, bool]]]) -> Habit:
    """Return how often a case that passed fails, outside of pull requests, and stays so; with flakes left out."""
    case_days = broken = 0
    for verdicts in main.values():
        for at, (before, (day, passed, confirmed)) in enumerate(pairwise(verdicts), start=1):
            if not before[1]:
                continue
            follows = verdicts[at + 1] if at + 1 < len(verdicts) else None
            if not passed and not confirmed and follows is None:
                continue  # No one knows yet whether that was chance.
            case_days += max((day - before[0]).days, 0)
            broken += not passed and (confirmed or (follows is not None and not follows[1]))
    told = f"cases that broke for good outside of pull requests: {broken:,}, in days of cases: {case_days:,}"
    if broken < FEW_BROKEN or case_days < FEW_CASE_DAYS:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(broken / case_days, told)


def _flaky(firsts: list[bool]) -> Habit:
    told = f"passes of cases that are asked again if they fail: {len(firsts):,}, of which failed first: {sum(firsts):,}"
    if len(firsts) < FEW_SERIES:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(sum(firsts) / len(firsts), told)


def _usd(prices: list[float], unpriced: int) -> Habit:
    told = f"trials with a price: {len(prices):,}, without: {unpriced:,}"
    if len(prices) < FEW_PRICED:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(fsum(prices) / len(prices), told)
