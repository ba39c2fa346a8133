"""Habits: what the journals of a team say of its days, where there is enough of it to say anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from itertools import pairwise
from math import fsum, isfinite
from statistics import median
from typing import NamedTuple

from pytest_recall.core.record import Record
from pytest_recall.core.series import graded, series
from pytest_recall.core.trial import Outcome

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
    """A figure that a simulation goes by, None where nobody knows it, and where it is from.

    `source` is `given`, `estimated` or `assumed`; `told` says more of it.
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
            if not (trial.outcome.is_verdict and trial.evidence):
                continue
            each = [one.outcome for one in asked[case_id]]
            if trial.rule and trial.outcome is Outcome.PASSED:
                firsts.append(each[0] is Outcome.FAILED)
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
    spans = []
    for started in pulls.values():
        times = sorted(datetime.fromisoformat(time) for time in started if time)
        if len(times) > 1:
            spans.append((times[-1] - times[0]).total_seconds() / _DAY)
    told = f"pull requests with several runs: {len(spans):,}"
    middle = median(spans) if spans else 0.0
    if len(spans) < FEW_PULLS or middle <= 0:
        return Habit(None, f"the runs have too little: {told}")
    return Habit(middle, f"{told}; from the first to the last, so that they were open for longer")


def _drift(main: Mapping[str, list[tuple[date, bool, bool]]]) -> Habit:
    """Return how often a case that passed fails, outside of pull requests, and stays so; with flakes left out."""
    case_days = broken = 0
    for verdicts in main.values():
        for at, (before, (day, passed, confirmed)) in enumerate(pairwise(verdicts), start=1):
            if not before[1]:
                continue
            follows = verdicts[at + 1] if at + 1 < len(verdicts) else None
            if not passed and not confirmed and follows is None:
                continue  # Nobody knows yet whether that was chance.
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
