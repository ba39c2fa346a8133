"""Add up what calls cost and what replays saved, and estimate a slice from earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import fsum, isfinite, sqrt
from types import MappingProxyType
from typing import NamedTuple

from pytest_recall.models.batch import SELLERS
from pytest_recall.replay.budget import models_without_price
from pytest_recall.replay.exchange import BATCHED, Call, Tokens
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import TrialCount

MAX_SEEN = 5
"""Runs of a case that count, the newest first: older ones were of another prompt or price."""
_Z95 = 1.959964


class CaseCost(NamedTuple):
    """What one case took in one run."""

    case_id: str
    scenario: str
    usd: float | None
    """US dollars; None where that is not known."""
    seconds: float | None
    """None where that is not known."""
    assumed: bool = False
    """Whether no one knows which of its calls a batch API takes."""
    trials: int = 1
    """How many trials these are of."""
    estimated: bool = False
    """Whether tokens were counted from texts."""
    replaced: str = ""
    """The recorded models that a price of another one stands for."""
    unpriced: tuple[str, ...] = ()
    """The models without a price."""


class Amount(NamedTuple):
    """A sum over the cases of a slice."""

    total: float
    """The sum of those that are known."""
    low: float
    """The lower end of the 95 % interval that the spread of earlier runs gives, by a normal approximation; equal to the
    total where a case was seen once."""
    high: float
    """The upper end of that interval."""
    own: int
    """How many cases are known from runs of their own."""
    borrowed: int
    """How many cases are known from the mean of their scenario."""
    unknown: int
    """How many cases are in no sum."""
    assumed: int = 0
    """How many of those that are known have not run by batch."""
    most: float = 0.0
    """What the known ones take if each is asked as often as its rule allows, at the highest cost of a trial that was
    seen."""
    estimated: int = 0
    """How many cases have tokens that were counted from texts."""


class Estimate(NamedTuple):
    """What one agent will take for a slice: money at list price with every call live, and seconds one after another."""

    cases: int
    usd: Amount
    seconds: Amount
    by_scenario: Mapping[str, Amount]


AtPrice = Callable[[Sequence[Call], str | None], tuple[Sequence[Call], str]]
"""Returns calls at the price of the model that is asked today, and the models that it replaces; given are the calls of
a trial, and the model that its run was about."""


def _as_recorded(calls: Sequence[Call], model: str | None) -> tuple[Sequence[Call], str]:
    return calls, ""


def seen(
    records: Iterable[Record], arm: str = "", *, batch: bool = False, at_price: AtPrice = _as_recorded
) -> list[CaseCost]:
    """Return what each case took in each of `records`, all its trials of a run together.

    A case whose calls have no price has no cost; one without any call cost nothing. Trials
    that were skipped took nothing that a later run would not. `arm` is the baseline that was asked,
    empty for the agent under test: what one of them takes says nothing of another.

    With `batch` it is what the case takes in a run by batch: a call of such a run what it has cost
    there, and one of another run half of its list price if its provider has a batch API, which is
    assumed. Without, it is the list price of all calls, batched ones too. The time of an answer
    that waited for a batch is that of the batch, and not known.
    """
    found: list[CaseCost] = []
    for record in records:
        cases: dict[str, list[CaseCost]] = {}
        for trial in record.trials:
            if trial.outcome.value == "skipped" or trial.arm != arm:
                continue
            tested = [call.batched or (record.header.batch and call.source == "live") for call in trial.calls]
            made, replaced = at_price(trial.calls, record.header.model)
            calls = zip(made, tested, strict=True)
            costs = [_by_batch(call, is_tested) if batch else call.listed for call, is_tested in calls]
            known = [cost for cost in costs if cost is not None and isfinite(cost) and cost >= 0]
            usd = fsum(known) if len(known) == len(costs) else None
            waited = batch or any(call.batched for call in trial.calls if call.kind != "judge")
            # A replay says nothing of the model's time.
            seconds = trial.seconds if trial.source == "live" and not waited else None
            assumed = batch and not all(tested)
            cases.setdefault(trial.case_id, []).append(
                CaseCost(
                    trial.case_id,
                    trial.scenario,
                    usd,
                    seconds,
                    assumed,
                    estimated=any(call.estimated and bool(call.cost) for call in made),
                    replaced=replaced,
                    unpriced=models_without_price(made),
                )
            )
        found += (_together_in_run(each) for each in cases.values())
    return found


def _together_in_run(each: Sequence[CaseCost]) -> CaseCost:
    return each[-1]._replace(
        usd=_sum(one.usd for one in each),
        seconds=_sum(one.seconds for one in each),
        assumed=any(one.assumed for one in each),
        trials=len(each),
        estimated=any(one.estimated for one in each),
        replaced=next((one.replaced for one in each if one.replaced), ""),
        unpriced=tuple(sorted({model for one in each for model in one.unpriced})),
    )


def _by_batch(call: Call, tested: bool) -> float | None:
    """Return what a call costs in a run by batch, by what it has cost in one if that was `tested`."""
    if tested or call.listed is None:
        return call.cost
    return call.listed * BATCHED if call.provider in SELLERS else call.listed


def estimate(
    slice_: Mapping[str, str], history: Iterable[CaseCost], counts: Mapping[str, TrialCount] = MappingProxyType({})
) -> Estimate:
    """Return what the cases of `slice_`, as scenario by id, will take, from `history` with the newest first.

    `counts` says how many trials each case takes, by id; without it that is one.
    """
    runs: dict[str, list[CaseCost]] = {}
    for one in history:
        runs.setdefault(one.case_id, []).append(one)
    own = {case_id: _tested(each)[:MAX_SEEN] for case_id, each in runs.items()}
    others: dict[str, list[CaseCost]] = {}
    for each in own.values():
        for one in each:
            others.setdefault(one.scenario, []).append(one)
    scenarios = {scenario: _tested(each) for scenario, each in others.items()}
    groups: dict[str, list[str]] = {}
    for case_id in sorted(slice_):
        groups.setdefault(slice_[case_id], []).append(case_id)

    def amount(case_ids: Iterable[str], value: Callable[[CaseCost], float | None]) -> Amount:
        return _amount(
            [_known(own.get(c, ()), scenarios.get(slice_[c], ()), value, counts.get(c, TrialCount())) for c in case_ids]
        )

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
    return Amount(
        total=total,
        low=max(0.0, total - margin),
        high=total + margin,
        own=sum(one.own for one in every),
        borrowed=sum(one.borrowed for one in every),
        unknown=sum(one.unknown for one in every),
        assumed=sum(one.assumed for one in every),
        most=fsum(one.most for one in every),
        estimated=sum(one.estimated for one in every),
    )


def _tested(each: list[CaseCost]) -> list[CaseCost]:
    """Return those of which nothing is assumed, if there are any."""
    return [one for one in each if not one.assumed] or each


def _usd(one: CaseCost) -> float | None:
    return one.usd


def _seconds(one: CaseCost) -> float | None:
    return one.seconds


class _Known(NamedTuple):
    mean: float
    variance: float
    own: bool
    assumed: bool
    most: float
    estimated: bool


def _known(
    own: Sequence[CaseCost],
    scenario: Sequence[CaseCost],
    value: Callable[[CaseCost], float | None],
    count: TrialCount,
) -> _Known | None:
    for some, is_own in ((own, True), (scenario, False)):
        values = [found / one.trials * count.expected for one in some if (found := value(one)) is not None]
        if values:
            mean = fsum(values) / len(values)
            spread = fsum((one - mean) ** 2 for one in values) / (len(values) - 1) if len(values) > 1 else 0.0
            # Of the next run, and of the mean itself, which was estimated from as few.
            return _Known(
                mean,
                spread * (1 + 1 / len(values)),
                is_own,
                any(one.assumed for one in some),
                max(values) / count.expected * count.most,
                any(one.estimated for one in some),
            )
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
        most=fsum(one.most for one in known),
        estimated=sum(one.estimated for one in known),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    every = list(values)
    return None if None in every else fsum(value for value in every if value is not None)


FIXTURES = "(fixtures)"
"""Stands among the scenarios for calls that are of no trial: of fixtures that tests share, and of teardowns."""


BASELINES = "(baselines)"
"""Stands among the scenarios for calls of the agents that were asked beside the one under test, and their judges'."""


NO_QUESTION = "(no question)"
"""Stands among them for calls that no trial of a question has: of a memory's own models as it is told and asked back,
and those for questions and answers that were not finished."""


class Bill(NamedTuple):
    """Some calls in US dollars."""

    calls: int = 0
    usd: float = 0.0
    """The sum of those that have a price."""
    unpriced: int = 0
    """How many calls have no price."""
    estimated: int = 0
    """How many of those with a price are counted from their texts."""
    unknown: tuple[str, ...] = ()
    """The models that have no price, sorted."""

    @property
    def known(self) -> float | None:
        """The sum, which is a lower bound if some calls have no price; None if none of them has one."""
        return None if self.calls and self.unpriced == self.calls else self.usd


class Spend(NamedTuple):
    """What calls came to."""

    calls: int = 0
    replayed: int = 0
    tokens: Tokens = Tokens()
    """The sums of the known counts; None where none is known."""
    uncounted: int = 0
    """How many calls have no count of tokens at all."""
    spent: Bill = Bill()
    """On the live calls."""
    saved: Bill = Bill()
    """By the replayed calls."""
    stays: Bill = Bill()
    """On those that a replay makes live again."""

    @property
    def recording(self) -> Bill:
        """What the calls cost if every one is live."""
        return added([self.spent, self.saved])

    @property
    def unpriced(self) -> int:
        """How many calls have no price, live and replayed together."""
        return self.spent.unpriced + self.saved.unpriced


def spend_of(calls: Iterable[Call], stays: Collection[str] = ("judge",)) -> Spend:
    """Return what `calls` came to; calls of the kinds in `stays` are live in a replay too."""
    every = list(calls)
    live = [call for call in every if call.source != "replayed"]
    replayed = [call for call in every if call.source == "replayed"]
    return Spend(
        calls=len(every),
        replayed=len(replayed),
        tokens=_tokens(call.tokens for call in every),
        uncounted=sum(call.tokens is None for call in every),
        spent=_bill(live),
        saved=_bill(replayed),
        stays=_bill([call for call in live if call.kind in stays]),
    )


def by_scenario(made: Iterable[tuple[str, Sequence[Call]]], stays: Collection[str] = ("judge",)) -> dict[str, Spend]:
    """Return the spend of each scenario, by name, from the scenario and the calls of every trial.

    Every attempt at a case is a trial, and each of them has cost its money.
    """
    calls: dict[str, list[Call]] = {}
    for scenario, some in made:
        calls.setdefault(scenario, []).extend(some)
    return {scenario: spend_of(calls[scenario], stays) for scenario in sorted(calls)}


def of_run(record: Record) -> dict[str, Spend]:
    """Return the spend of each scenario of a run, by name, and at last those of `BASELINES` and `FIXTURES`, if any.

    The memory of a run over a dataset or a persona is asked in a replay as well, and its calls are live then.
    """
    of_cases = record.header.of_cases
    stays = ("judge",) if of_cases else ("judge", "agent")
    spends = by_scenario(((trial.scenario, trial.calls) for trial in record.trials if not trial.arm), stays)
    beside = [call for trial in record.trials if trial.arm for call in trial.calls]
    if beside:
        spends[BASELINES] = spend_of(beside)
    return {**spends, FIXTURES if of_cases else NO_QUESTION: spend_of(record.calls, stays)} if record.calls else spends


def total(spends: Mapping[str, Spend]) -> Spend:
    """Return all of `spends` in one."""
    every = list(spends.values())
    return Spend(
        calls=sum(spend.calls for spend in every),
        replayed=sum(spend.replayed for spend in every),
        tokens=_tokens(spend.tokens for spend in every),
        uncounted=sum(spend.uncounted for spend in every),
        spent=added(spend.spent for spend in every),
        saved=added(spend.saved for spend in every),
        stays=added(spend.stays for spend in every),
    )


def _bill(calls: Sequence[Call]) -> Bill:
    priced = [call for call in calls if _is_priced(call)]
    return Bill(
        len(calls),
        fsum(call.cost or 0.0 for call in priced),
        len(calls) - len(priced),
        sum(call.estimated and bool(call.cost) for call in priced),
        models_without_price(calls),
    )


def _is_priced(call: Call) -> bool:
    # What a journal from elsewhere has in place of a price is not one.
    return call.cost is not None and isfinite(call.cost) and call.cost >= 0


def added(bills: Iterable[Bill]) -> Bill:
    """Return several bills as one."""
    every = list(bills)
    return Bill(
        sum(bill.calls for bill in every),
        fsum(bill.usd for bill in every),
        sum(bill.unpriced for bill in every),
        sum(bill.estimated for bill in every),
        tuple(sorted({model for bill in every for model in bill.unknown})),
    )


def _tokens(counted: Iterable[Tokens | None]) -> Tokens:
    columns = zip(Tokens(), *(tokens for tokens in counted if tokens is not None), strict=True)
    known = [[count for count in column if count is not None] for column in columns]
    return Tokens(*(sum(counts) if counts else None for counts in known))
