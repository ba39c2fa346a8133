"""Estimate: what a slice will cost and how long it will take, from what its cases took before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite, sqrt
from typing import NamedTuple

from pytest_recall.core.record import Record

MAX_SEEN = 5
"""Runs of a case that count, the newest first: older ones were of another prompt or price."""
_Z95 = 1.959964


class Seen(NamedTuple):
    """What one case took in one run: US dollars and seconds, None where that is not known."""

    case_id: str
    scenario: str
    usd: float | None
    seconds: float | None


class Amount(NamedTuple):
    """A sum over the cases of a slice.

    `total` is the sum of those that are known, with the 95 % interval `low` to `high` that the
    spread of earlier runs gives (normal approximation; equal to the total where a case was seen
    once). `own` cases are known from runs of their own, `borrowed` ones from the mean of their
    scenario; `unknown` ones are in no sum.
    """

    total: float
    low: float
    high: float
    own: int
    borrowed: int
    unknown: int


class Estimate(NamedTuple):
    """What a slice will take: money at list price with every call live, and the agent's seconds one after another."""

    cases: int
    usd: Amount
    seconds: Amount
    by_scenario: Mapping[str, Amount]


def seen(records: Iterable[Record]) -> list[Seen]:
    """Return what each case took in each of `records`, all its trials of a run together.

    A case whose calls have no price has no cost; one without any call cost nothing. Trials
    that were skipped took nothing that a later run would not, and those of baselines are of other agents.
    """
    found = []
    for record in records:
        cases: dict[str, list[Seen]] = {}
        for trial in record.trials:
            if trial.outcome.value == "skipped" or trial.arm:
                continue
            costs = [call.cost for call in trial.calls]
            known = [cost for cost in costs if cost is not None and isfinite(cost) and cost >= 0]
            usd = fsum(known) if len(known) == len(costs) else None
            seconds = trial.seconds if trial.source == "live" else None  # A replay says nothing of the model's time.
            cases.setdefault(trial.case_id, []).append(Seen(trial.case_id, trial.scenario, usd, seconds))
        for case_id, each in cases.items():
            found.append(
                Seen(case_id, each[-1].scenario, _sum(one.usd for one in each), _sum(one.seconds for one in each))
            )
    return found


def estimate(slice_: Mapping[str, str], history: Iterable[Seen]) -> Estimate:
    """Return what the cases of `slice_`, as scenario by id, will take, from `history` with the newest first."""
    own: dict[str, list[Seen]] = {}
    for one in history:
        known = own.setdefault(one.case_id, [])
        if len(known) < MAX_SEEN:
            known.append(one)
    scenarios: dict[str, list[Seen]] = {}
    for each in own.values():
        for one in each:
            scenarios.setdefault(one.scenario, []).append(one)
    groups: dict[str, list[str]] = {}
    for case_id in sorted(slice_):
        groups.setdefault(slice_[case_id], []).append(case_id)

    def amount(case_ids: Iterable[str], value: Callable[[Seen], float | None]) -> Amount:
        return _amount([_known(own.get(c, ()), scenarios.get(slice_[c], ()), value) for c in case_ids])

    return Estimate(
        cases=len(slice_),
        usd=amount(slice_, _usd),
        seconds=amount(slice_, _seconds),
        by_scenario={scenario: amount(groups[scenario], _usd) for scenario in sorted(groups)},
    )


def _usd(one: Seen) -> float | None:
    return one.usd


def _seconds(one: Seen) -> float | None:
    return one.seconds


class _Known(NamedTuple):
    mean: float
    variance: float
    own: bool


def _known(own: Sequence[Seen], scenario: Sequence[Seen], value: Callable[[Seen], float | None]) -> _Known | None:
    for some, is_own in ((own, True), (scenario, False)):
        values = [found for one in some if (found := value(one)) is not None]
        if values:
            mean = fsum(values) / len(values)
            spread = fsum((one - mean) ** 2 for one in values) / (len(values) - 1) if len(values) > 1 else 0.0
            # Of the next run, and of the mean itself, which was estimated from as few.
            return _Known(mean, spread * (1 + 1 / len(values)), is_own)
    return None


def _amount(found: Sequence[_Known | None]) -> Amount:
    known = [one for one in found if one is not None]
    total = fsum(one.mean for one in known)
    margin = _Z95 * sqrt(fsum(one.variance for one in known))
    own = sum(one.own for one in known)
    return Amount(
        total=total,
        low=max(0.0, total - margin),
        high=total + margin,
        own=own,
        borrowed=len(known) - own,
        unknown=len(found) - len(known),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    return None if None in every else fsum(value for value in every if value is not None)
