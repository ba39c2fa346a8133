"""Spend: what calls cost, and what their replays saved, with what is unknown counted apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import NamedTuple

from pytest_recall.core.call import Call, Tokens
from pytest_recall.core.record import Record

FIXTURES = "(fixtures)"
"""Stands among the scenarios for calls that are of no trial: of fixtures that tests share, and of teardowns."""


BASELINES = "(baselines)"
"""Stands among the scenarios for calls of the agents that were asked beside the one under test, and their judges'."""


class Bill(NamedTuple):
    """Some calls in US dollars: `usd` is the sum of those that have a price, `unpriced` counts the others."""

    calls: int = 0
    usd: float = 0.0
    unpriced: int = 0

    @property
    def known(self) -> float | None:
        """The sum, which is a lower bound if some calls have no price; None if none of them has one."""
        return None if self.calls and self.unpriced == self.calls else self.usd


class Spend(NamedTuple):
    """What calls came to.

    `spent` is on the live calls and `saved` by the replayed ones; `stays` is on those that a
    replay makes live again. `tokens` are the sums of the known counts, None where none is
    known; `uncounted` calls have none at all.
    """

    calls: int = 0
    replayed: int = 0
    tokens: Tokens = Tokens()
    uncounted: int = 0
    spent: Bill = Bill()
    saved: Bill = Bill()
    stays: Bill = Bill()

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
    """Return the spend of each scenario of a run, by name, and at last those of `BASELINES` and `FIXTURES`, if any."""
    spends = by_scenario((trial.scenario, trial.calls) for trial in record.trials if not trial.arm)
    beside = [call for trial in record.trials if trial.arm for call in trial.calls]
    if beside:
        spends[BASELINES] = spend_of(beside)
    return {**spends, FIXTURES: spend_of(record.calls)} if record.calls else spends


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
    # What a journal from elsewhere has in place of a price is not one.
    prices = [call.cost for call in calls if call.cost is not None and isfinite(call.cost) and call.cost >= 0]
    return Bill(len(calls), fsum(prices), len(calls) - len(prices))


def added(bills: Iterable[Bill]) -> Bill:
    """Return several bills as one."""
    every = list(bills)
    return Bill(
        sum(bill.calls for bill in every), fsum(bill.usd for bill in every), sum(bill.unpriced for bill in every)
    )


def _tokens(counted: Iterable[Tokens | None]) -> Tokens:
    columns = zip(Tokens(), *(tokens for tokens in counted if tokens is not None), strict=True)
    known = [[count for count in column if count is not None] for column in columns]
    return Tokens(*(sum(counts) if counts else None for counts in known))
