"""Choose the affected cases that the bank can pay for by their estimated cost, and word what is deferred."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from math import fsum
from typing import NamedTuple

from pytest_recall.cases.settings import Settings
from pytest_recall.files.wording import dollars, listed, plural
from pytest_recall.schedule.account import Account
from pytest_recall.schedule.bank import AffectedCase, Bank, balance, bank_from, hidden_line, micro, spread
from pytest_recall.schedule.changes import Changes
from pytest_recall.trials.trial import Row

FOR_MONEY = "budget"
"""Why a case is deferred: there is no money for it."""
FOR_REGRESSION = "a regression is confirmed"
"""Why a case is deferred: the change has broken another one, and is red as it is."""


class Allotment(NamedTuple):
    """What is in the bank on the day of a run, what the affected cases cost, and which of them are `deferred`.

    `deferred` maps cases to why. `cost` is the sum of what is recorded of each of the `affected` cases, of which
    `assumed` ones, with nothing recorded, count as much as the others do in the mean. It is None where no price is
    known: nothing can be held to a budget then, and all are asked. `unpriced` trials of earlier runs have no price
    either, so that less is in the bank than `left`.
    """

    left: float
    most: float
    affected: int
    cost: float | None
    assumed: int = 0
    unpriced: int = 0
    deferred: Mapping[str, str] = {}

    @property
    def per_case(self) -> float | None:
        """What an affected case costs in the mean; None where that is not known."""
        return None if self.cost is None or not self.affected else self.cost / self.affected

    def stopped(self, case_ids: Iterable[str]) -> Allotment:
        """Return the same with cases that are deferred since a regression is confirmed."""
        return self._replace(deferred={**self.deferred, **dict.fromkeys(sorted(case_ids), FOR_REGRESSION)})

    def lines(self) -> Iterator[str]:
        """Yield what is to be said of it: money, what is deferred and why, and what a break may still hide in."""
        now = self.affected - len(self.deferred)
        least = f" (less by {plural(self.unpriced, 'trial')} of unknown cost)" if self.unpriced else ""
        bank = f"budget: {dollars(self.left)} of at most {dollars(self.most)} in the bank{least}"
        cases = plural(self.affected, "affected case")
        if not self.affected:
            yield f"{bank}; no case is affected"
        elif self.cost is None:
            yield (
                f"{bank}; what {cases} would cost is unknown, so that all are asked: no recording of them has calls"
                " whose price is known; record them, or add their model to `prices` in rubric.yaml"
            )
        else:
            told = f", {self.assumed} of them assumed" if self.assumed else ""
            asked = "all are asked" if now == self.affected else f"{now} asked, {len(self.deferred)} deferred"
            yield f"{bank}; {cases} would cost about {dollars(self.cost)}{told}: {asked}"
        whys: dict[str, list[str]] = {}
        for case_id, why in sorted(self.deferred.items()):
            whys.setdefault(why, []).append(case_id)
        for why, ids in sorted(whys.items()):
            yield f"deferred: {why} ({len(ids)}): {listed(ids)}; the next night or run by batch asks them first"
        if self.deferred and FOR_REGRESSION not in whys and (hidden := hidden_line(self.affected, now)):
            yield f"what may be hidden, if none of the {now} asked fails: {hidden}"


def in_the_bank(rubric: Settings, account: Account, today: date) -> tuple[float, float] | None:
    """Return what is in the bank of a rubric on `today`, and at most, in US dollars; None without a budget."""
    bank = bank_from(rubric.budget)
    if bank is None or rubric.policy != "affected":
        return None
    return balance(bank, account.by_day, today), bank.most


def allot(
    bank: Bank,
    account: Account,
    changes: Changes,
    case_ids: Collection[str],
    rows: Mapping[str, Row],
    today: date,
    seed: str,
) -> Allotment:
    """Return which of `case_ids` that a change affects are asked on `today`, and which are deferred.

    All are asked if what is in the bank is enough. Else they are spread over distinct differences of requests, with
    those first that fell before, as far as the money goes by what their recordings have cost.
    """
    affected = sorted(changes.affected & set(case_ids))
    left = balance(bank, account.by_day, today)
    prices = {case_id: changes.found[case_id].usd for case_id in affected}
    known = [usd for usd in prices.values() if usd is not None]
    if not known:
        return Allotment(left, bank.most, len(affected), None, unpriced=account.unpriced)
    mean = fsum(known) / len(known)
    costs = {case_id: mean if usd is None else usd for case_id, usd in prices.items()}
    differences = {case_id: changes.found[case_id].key or str(changes.found[case_id].state) for case_id in affected}
    cases = [AffectedCase(case_id, differences[case_id], _falls(rows.get(case_id))) for case_id in affected]
    order = spread(cases, len(cases), seed).now
    room, rest = 0, micro(left)
    for case_id in order:
        rest -= micro(costs[case_id])
        if rest < 0:
            break
        room += 1
    deferred = dict.fromkeys(sorted(order[room:]), FOR_MONEY)
    assumed = len(affected) - len(known)
    return Allotment(left, bank.most, len(affected), fsum(costs.values()), assumed, account.unpriced, deferred)


def _falls(row: Row | None) -> int:
    return 0 if row is None else row.lapses + row.failing
