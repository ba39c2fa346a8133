"""Estimate: what a slice will cost and how long it will take, from what its cases took before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum, isfinite, sqrt
from typing import NamedTuple

from pytest_recall.core.batch import SELLERS
from pytest_recall.core.call import BATCHED, Call
from pytest_recall.core.record import Record

MAX_SEEN = 5
"""Runs of a case that count, the newest first: older ones were of another prompt or price."""
_Z95 = 1.959964


class Seen(NamedTuple):
    """What one case took in one run: US dollars and seconds, None where that is not known.

    `assumed` says that nobody knows which of its calls a batch API takes.
    """

    case_id: str
    scenario: str
    usd: float | None
    seconds: float | None
    assumed: bool = False


class Amount(NamedTuple):
    """A sum over the cases of a slice.

    `total` is the sum of those that are known, with the 95 % interval `low` to `high` that the
    spread of earlier runs gives (normal approximation; equal to the total where a case was seen
    once). `own` cases are known from runs of their own, `borrowed` ones from the mean of their
    scenario; `unknown` ones are in no sum. Of those that are known `assumed` ones have not run by batch.
    """

    total: float
    low: float
    high: float
    own: int
    borrowed: int
    unknown: int
    assumed: int = 0


class Estimate(NamedTuple):
    """What one agent will take for a slice: money at list price with every call live, and seconds one after another."""

    cases: int
    usd: Amount
    seconds: Amount
    by_scenario: Mapping[str, Amount]


def seen(records: Iterable[Record], arm: str = "", *, batch: bool = False) -> list[Seen]:
    """Return what each case took in each of `records`, all its trials of a run together.

    A case whose calls have no price has no cost; one without any call cost nothing. Trials
    that were skipped took nothing that a later run would not. `arm` is the baseline that was asked,
    empty for the agent under test: what one of them takes says nothing of another.

    With `batch` it is what the case takes in a run by batch: a call of such a run what it has cost
    there, and one of another run half of its list price if its provider has a batch API, which is
    assumed. Without, it is the list price of all calls, batched ones too. The time of an answer
    that waited for a batch is that of the batch, and not known.
    """
    found = []
    for record in records:
        cases: dict[str, list[Seen]] = {}
        for trial in record.trials:
            if trial.outcome.value == "skipped" or trial.arm != arm:
                continue
            tested = [call.batched or (record.header.batch and call.source == "live") for call in trial.calls]
            calls = zip(trial.calls, tested, strict=True)
            costs = [_by_batch(call, is_tested) if batch else call.listed for call, is_tested in calls]
            known = [cost for cost in costs if cost is not None and isfinite(cost) and cost >= 0]
            usd = fsum(known) if len(known) == len(costs) else None
            waited = batch or any(call.batched for call in trial.calls if call.kind != "judge")
            # A replay says nothing of the model's time.
            seconds = trial.seconds if trial.source == "live" and not waited else None
            assumed = batch and not all(tested)
            cases.setdefault(trial.case_id, []).append(Seen(trial.case_id, trial.scenario, usd, seconds, assumed))
        for case_id, each in cases.items():
            usd, seconds = _sum(one.usd for one in each), _sum(one.seconds for one in each)
            found.append(Seen(case_id, each[-1].scenario, usd, seconds, any(one.assumed for one in each)))
    return found


def _by_batch(call: Call, tested: bool) -> float | None:
    """Return what a call costs in a run by batch, by what it has cost in one if that was `tested`."""
    if tested or call.listed is None:
        return call.cost
    return call.listed * BATCHED if call.provider in SELLERS else call.listed


def estimate(slice_: Mapping[str, str], history: Iterable[Seen]) -> Estimate:
    """Return what the cases of `slice_`, as scenario by id, will take, from `history` with the newest first."""
    runs: dict[str, list[Seen]] = {}
    for one in history:
        runs.setdefault(one.case_id, []).append(one)
    own = {case_id: _tested(each)[:MAX_SEEN] for case_id, each in runs.items()}
    others: dict[str, list[Seen]] = {}
    for each in own.values():
        for one in each:
            others.setdefault(one.scenario, []).append(one)
    scenarios = {scenario: _tested(each) for scenario, each in others.items()}
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


def together(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of several agents' amounts; a case counts once for each of them."""
    every = list(amounts)
    total = fsum(one.total for one in every)
    margin = sqrt(fsum((one.high - one.total) ** 2 for one in every))
    counts = (sum(column) for column in zip(*(one[3:] for one in every), strict=True))
    return Amount(total, max(0.0, total - margin), total + margin, *counts)


def _tested(each: list[Seen]) -> list[Seen]:
    """Return those of which nothing is assumed, if there are any."""
    return [one for one in each if not one.assumed] or each


def _usd(one: Seen) -> float | None:
    return one.usd


def _seconds(one: Seen) -> float | None:
    return one.seconds


class _Known(NamedTuple):
    mean: float
    variance: float
    own: bool
    assumed: bool


def _known(own: Sequence[Seen], scenario: Sequence[Seen], value: Callable[[Seen], float | None]) -> _Known | None:
    for some, is_own in ((own, True), (scenario, False)):
        values = [found for one in some if (found := value(one)) is not None]
        if values:
            mean = fsum(values) / len(values)
            spread = fsum((one - mean) ** 2 for one in values) / (len(values) - 1) if len(values) > 1 else 0.0
            # Of the next run, and of the mean itself, which was estimated from as few.
            return _Known(mean, spread * (1 + 1 / len(values)), is_own, any(one.assumed for one in some))
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
        assumed=sum(one.assumed for one in known),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    return None if None in every else fsum(value for value in every if value is not None)
