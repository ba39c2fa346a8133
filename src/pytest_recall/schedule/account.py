"""Keep what runs have spent of a rolling budget, and the affected cases that they have deferred."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from math import fsum, isfinite
from typing import NamedTuple

from pytest_recall.schedule.bank import Bank, balance
from pytest_recall.schedule.boxes import AFFECTED, REJUDGED
from pytest_recall.schedule.suspects import change_of
from pytest_recall.trials.record import Header
from pytest_recall.trials.trial import Trial

KEPT_TIMES = 10
"""So many times the days for which money is kept are the longest that a spending is: by then it hardly counts."""
_DIGITS = 6  # Of a dollar: amounts are added up as whole millionths.


class RunSpend(NamedTuple):
    """What one run has spent on the cases that its change affects, on a day, in US dollars.

    `usd` is what is known, or was estimated from what is recorded; `unpriced` trials have no price of either kind, so
    that the run has cost more than it says.
    """

    day: date
    usd: float
    unpriced: int = 0


class Account(NamedTuple):
    """What is known of a budget: what runs `spent`, and the cases that are `deferred`, each with who has left them.

    Spending is kept by run and not by day. So two branches that spent on one day are joined by taking each run once,
    in any order and any number of times; two sums of a day would not show which runs are in both.
    """

    spent: Mapping[str, RunSpend] = {}
    deferred: Mapping[str, tuple[str, ...]] = {}

    @property
    def by_day(self) -> dict[date, float]:
        """What was spent, by day."""
        days: dict[date, list[float]] = {}
        for one in self.spent.values():
            days.setdefault(one.day, []).append(one.usd)
        return {day: fsum(amounts) for day, amounts in sorted(days.items())}

    @property
    def unpriced(self) -> int:
        """How many trials have no price, so that less is in the bank than it seems."""
        return sum(one.unpriced for one in self.spent.values())

    def pruned(self, bank: Bank, today: date) -> Account:
        """Return the same without the runs that no longer count: those before a day on which the bank was full.

        Just to forget them after `bank.carry_days` would fill a bank that is always short. `KEPT_TIMES` as many days
        are kept at most.
        """
        spent = self.by_day
        first = today - timedelta(days=bank.carry_days * KEPT_TIMES)
        for day in sorted({*spent, today}, reverse=True):
            before = {one: usd for one, usd in spent.items() if one < day}
            if day <= today and before and balance(bank, before, day) >= bank.most:
                first = max(first, day)
                break
        if all(one.day >= first for one in self.spent.values()):
            return self
        return self._replace(spent={run: one for run, one in self.spent.items() if one.day >= first})

    def with_spend(self, run: str, spend: RunSpend | None) -> Account:
        """Return the same with what a run has spent; of a run that is in there, the larger amount counts."""
        return self if spend is None else self._replace(spent=_joined(self.spent, {run: spend}))

    def deferring(self, case_ids: Iterable[str], by: str) -> Account:
        """Return the same with cases that the change or run `by` has left unasked."""
        news = dict.fromkeys(case_ids, (by,))
        return self._replace(deferred=_united(self.deferred, news)) if news else self

    def answered(self, known: Mapping[str, Collection[str]]) -> Account:
        """Return the same without what is settled: by case, the changes of which its verdict has told."""
        if not self.deferred.keys() & known.keys():
            return self
        left = {
            case_id: tuple(one for one in names if one not in known.get(case_id, ()))
            for case_id, names in self.deferred.items()
        }
        return self._replace(deferred={case_id: names for case_id, names in left.items() if names})

    def without(self, case_ids: Collection[str]) -> Account:
        """Return the same without cases that are no more."""
        deferred = {case_id: names for case_id, names in self.deferred.items() if case_id not in case_ids}
        return self._replace(deferred=deferred)

    def moved(self, ids: Mapping[str, str]) -> Account:
        """Return the same with cases under new ids, which `ids` maps from the old ones."""
        deferred: Mapping[str, tuple[str, ...]] = {}
        for case_id, names in self.deferred.items():
            deferred = _united(deferred, {ids.get(case_id, case_id): names})
        return self._replace(deferred=deferred)


NOTHING_SPENT = Account()


def merged(base: Account, ours: Account, theirs: Account) -> Account:
    """Return what both sides of a merge know; the sides may be swapped.

    All that was spent on either counts, each run once. A case stays deferred by each change of which no side has come
    to a verdict since `base`.
    """
    deferred = {}
    for case_id in ours.deferred.keys() | theirs.deferred.keys():
        before, one, other = (set(side.deferred.get(case_id, ())) for side in (base, ours, theirs))
        if left := (one | other) - (before - (one & other)):
            deferred[case_id] = tuple(sorted(left))
    return Account(_joined(ours.spent, theirs.spent), dict(sorted(deferred.items())))


def _joined(ours: Mapping[str, RunSpend], theirs: Mapping[str, RunSpend]) -> dict[str, RunSpend]:
    """Return the runs of both; one that both have has cost what the later of them knows, which is never less."""
    found = dict(ours)
    for run, one in theirs.items():
        known = found.get(run, one)
        found[run] = RunSpend(min(known.day, one.day), max(known.usd, one.usd), max(known.unpriced, one.unpriced))
    return dict(sorted(found.items()))


def _united(ours: Mapping[str, Sequence[str]], theirs: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    found = {case_id: tuple(names) for case_id, names in ours.items()}
    for case_id, names in theirs.items():
        found[case_id] = tuple(sorted({*found.get(case_id, ()), *names}))
    return dict(sorted(found.items()))


def run_key(header: Header) -> str:
    """Return the name under which a run is kept; two machines may begin runs of two pull requests in one second."""
    return f"{header.run}-pr{header.pr}" if header.pr else header.run


def deferred_by(header: Header) -> str:
    """Return who has left cases unasked: a pull request, a commit without one, or the run itself."""
    return change_of(header) or header.run


def spend_of_change(header: Header, trials: Iterable[Trial]) -> RunSpend | None:
    """Return what a run has spent on what its change affects; None for one that is held to no budget.

    A trial with a call that has no price counts by what a case is estimated to cost, if the run knew that, and is
    else told as one of unknown cost. Calls that were replayed cost nothing.
    """
    if not header.budgeted:
        return None
    amounts, unpriced = [], 0
    for trial in trials:
        if trial.reason not in (AFFECTED, REJUDGED):
            continue
        costs = [call.cost for call in trial.calls if call.source != "replayed"]
        known = [cost for cost in costs if cost is not None and isfinite(cost) and cost >= 0]
        usd = fsum(known)
        if len(known) < len(costs):
            usd = max(usd, header.per_case or 0.0)
            unpriced += header.per_case is None
        amounts.append(usd)
    total = round(fsum(amounts), _DIGITS)
    return RunSpend(date.fromisoformat(header.date), total, unpriced) if total or unpriced else None


def settled_by(header: Header, grading: Mapping[str, Trial]) -> dict[str, tuple[str, ...]]:
    """Return by case the changes that had left it unasked and of which its verdict tells: those that the run knew of.

    What was deferred on another branch meanwhile was not tested.
    """
    found: dict[str, list[str]] = {}
    for case_id, name in header.waiting:
        trial = grading.get(case_id)
        if trial is not None and trial.outcome.is_verdict and trial.counts_for_schedule:
            found.setdefault(case_id, []).append(name)
    return {case_id: tuple(names) for case_id, names in found.items()}


def account_after(
    before: Account, header: Header, trials: Iterable[Trial], grading: Mapping[str, Trial], *, first: bool = True
) -> Account:
    """Return the account after a run, of which `trials` are all that it has made and `grading` those that are news.

    Only the `first` fold of a run defers: what it has left may have been asked since.
    """
    after = before.answered(settled_by(header, grading)).with_spend(run_key(header), spend_of_change(header, trials))
    return after.deferring((case_id for case_id, _ in header.deferred if first), deferred_by(header))
