"""Play policies over a history of changes: what each would have run, caught in the change itself, and cost.

The verdict of a trial is drawn from the pass rate that the history has for the case after the change.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import inf
from typing import NamedTuple

from pytest_recall.cases.settings import DEFAULT_SETTINGS, Settings
from pytest_recall.metrics.intervals import Mean, mean_of
from pytest_recall.schedule.bank import LOCAL, Bank, affordable, balance, may_stop, spread
from pytest_recall.schedule.boxes import INTERVALS, LAST_BOX, review
from pytest_recall.schedule.change_history import (
    CaseChange,
    ChangeHistory,
    MergedChange,
    PassCounts,
    as_affected,
    rate,
    sized,
)
from pytest_recall.schedule.selection import select
from pytest_recall.trials.detector import NOTHING, CaseLikelihood, RatioRule
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.series import AnyRule
from pytest_recall.trials.trial import Outcome, Row

BATCH_PRICE = 0.5
"""What a trial through a batch API costs, of its usual price."""

Confirmation = Callable[[int, bool, Callable[[], bool]], bool]
"""Whether a case passes, by its index and whether it failed when last asked; it asks as often as it needs."""


class ChangePolicy(NamedTuple):
    """What a change runs: `of` all cases, of the `affected` ones or of the `boxes`; `most` of them, None for all.

    `confirm` makes what decides a verdict, with a memory of its own. With a `bank` it runs what is left in it, and with
    `batch` the rest through a batch API. `looks` is how often a case of a local change has to pass, if the bank allows.
    With `stops` a wide change runs no more after its first confirmed regression.
    """

    name: str
    of: str
    confirm: Callable[[], Confirmation]
    most: int | None = None
    bank: Bank | None = None
    batch: bool = False
    looks: int = 1
    stops: bool = False


class Caught(NamedTuple):
    """Whether a change that broke sound cases failed by itself: at `once`, or `late`, when its batch came back."""

    commit: str
    is_local: bool
    once: bool
    late: bool

    @property
    def is_caught(self) -> bool:
        """Whether it failed by itself, before it was merged."""
        return self.once or self.late


class PlayedHistory(NamedTuple):
    """What a policy came to over a history, in one draw of the verdicts; None where there are no verdicts.

    `asked` are the cases that changes ran, `runs` their trials, with those that confirm a fail, and `batched` those
    through a batch API. `deferred` cases found no room in the bank. `false_alarms` are confirmed fails of cases that
    passed before, of which the history has no fall since. `usd` is what all of it cost.
    """

    policy: str
    asked: int
    runs: int
    batched: int
    deferred: int
    usd: float
    caught: tuple[Caught, ...] | None
    false_alarms: int | None


class _Known:
    """What is known of a case: its counts, and of its verdicts those that a policy has seen."""

    __slots__ = ("counts", "passed", "passed_at")

    def __init__(self, counts: PassCounts | None) -> None:
        self.counts = counts
        self.passed: bool | None = None
        self.passed_at: PassCounts | None = None  # The counts at its last pass.


def ruled(rule: AnyRule | None) -> Callable[[], Confirmation]:
    """Return what decides by `rule`: a pass counts at once, and a fail is asked again; None if a fail counts at once.

    A case that is failing has no verdict to lose, and its fail is not asked again. One that is not confirmed leaves the
    case as it was.
    """

    def made() -> Confirmation:
        known: dict[int, CaseLikelihood] = {}

        def decide(index: int, is_failing: bool, ask: Callable[[], bool]) -> bool:
            outcomes = [Outcome.PASSED if ask() else Outcome.FAILED]
            if rule is None or is_failing:
                return outcomes[0] is Outcome.PASSED
            own = rule._replace(known=known.get(index, NOTHING)) if isinstance(rule, RatioRule) else rule
            while (verdict := own.decided(outcomes)) is None:
                outcomes.append(Outcome.PASSED if ask() else Outcome.FAILED)
            is_lost = verdict is Outcome.FAILED and not own.doubt(outcomes)
            if isinstance(own, RatioRule):
                after = own.after(outcomes)
                known[index] = after._replace(ratio=1.0) if is_lost else after
            return not is_lost

        return decide

    return made


def play(
    history: ChangeHistory, policy: ChangePolicy, usd: float, seed: int = 0, rubric: Settings = DEFAULT_SETTINGS
) -> PlayedHistory:
    """Return what `policy` comes to over `history`, at `usd` US dollars a trial; the same seed gives the same."""
    return _Player(history, policy, usd, seed, rubric).play()


@dataclass(eq=False)
class _Player:
    history: ChangeHistory
    policy: ChangePolicy
    usd: float
    seed: int
    rubric: Settings
    cases: dict[int, _Known] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    rows: dict[str, Row] = field(default_factory=dict)
    falls: dict[int, int] = field(default_factory=dict)
    spent: dict[date, float] = field(default_factory=dict)
    caught: list[Caught] = field(default_factory=list)
    asked: int = 0
    runs: int = 0
    batched: int = 0
    deferred: int = 0
    false_alarms: int = 0

    def play(self) -> PlayedHistory:
        self.noise = random.Random(f"{self.seed}:{self.policy.name}")
        self.confirm = self.policy.confirm()
        self.now = self.history.changes[0].day
        for change, size in sized(self.history):
            self.now = max(self.now, change.day)  # A day of a rebased commit may be before that of the one it follows.
            if isinstance(change.cases, tuple):
                self.cases = {}
                for one in change.cases:
                    self._begin(one.number, one.name, one.counts)
                    self._settle(one.number)
            for changed in change.changed:
                if changed.number in self.cases:
                    self.cases[changed.number].counts = changed.counts[1]
            if change.is_played:
                self._change(change, size)
            for one in change.added:
                self._begin(one.number, one.name, one.counts)
            for index in change.removed:
                self.cases.pop(index, None)
                self.rows.pop(str(index), None)
        counted = self.history.counted
        return PlayedHistory(
            policy=self.policy.name,
            asked=self.asked,
            runs=self.runs,
            batched=self.batched,
            deferred=self.deferred,
            usd=(self.runs + self.batched * BATCH_PRICE) * self.usd,
            caught=tuple(self.caught) if counted else None,
            false_alarms=self.false_alarms if counted else None,
        )

    def _begin(self, index: int, name: str, counts: PassCounts | None) -> None:
        """Give a case its first verdict, in no figure: every policy begins with one run of everything."""
        case = self.cases[index] = _Known(counts)
        self.names[index] = name
        if counts is not None:
            passed = self.confirm(index, False, lambda: self._draw(counts))
            self._take(index, case, passed, self.now - timedelta(days=1))

    def _settle(self, index: int) -> None:
        """Put a case that passes at the start into the last box, due on a day of the next month like any other."""
        row = self.rows.get(str(index))
        if row is not None and not row.failing:
            tested = self.now - timedelta(days=1 + index % INTERVALS[LAST_BOX])
            due = tested + timedelta(days=INTERVALS[LAST_BOX])
            self.rows[str(index)] = row._replace(box=LAST_BOX, last_tested=tested, next_due=due)

    def _draw(self, counts: PassCounts) -> bool:
        return self.noise.random() < rate(counts)

    def _change(self, change: MergedChange, size: int) -> None:
        now, later = self._chosen(change, size)
        broken = {one.number for one in change.changed if one.is_broken}
        affected = len(change.affected)
        before = self.runs
        found = self._ask(now, broken, affected)
        self.spent[self.now] = self.spent.get(self.now, 0.0) + (self.runs - before) * self.usd
        late = False
        if self.policy.batch and later and not (found and self.policy.stops):
            before = self.runs
            late = self._ask(later, broken, affected)
            self.batched += self.runs - before
            self.runs = before
        else:
            self.deferred += len(later)
        if broken:
            self.caught.append(Caught(change.commit, affected <= LOCAL, found, late and not found))

    def _chosen(self, change: MergedChange, size: int) -> tuple[Sequence[int], Sequence[int]]:
        policy, affected = self.policy, change.affected
        if policy.of == "all":
            pool: Sequence[int] = sorted(self.cases) if self.history.counted else range(size)
            return self.noise.sample(pool, min(policy.most or len(pool), len(pool))), ()
        if policy.of == "boxes":
            # A case that is neither new, due nor in box 1 has no part in it.
            some = [
                str(index)
                for index in self.cases
                if (row := self.rows.get(str(index))) is None or row.box == 1 or row.is_due(self.now)
            ]
            picks = select(some, self.rows, self.rubric, "pr", self.now, change.commit)
            return [int(pick.case_id) for pick in picks], ()
        if policy.bank is None:
            order = self._spread(affected, len(affected), change.commit)[0]
            if policy.most is not None and policy.most < len(order):
                order = self.noise.sample(sorted(order), policy.most)
            return order, ()
        return self._spread(affected, self._room(), change.commit)

    def _room(self) -> int:
        assert self.policy.bank is not None
        return affordable(balance(self.policy.bank, self.spent, self.now), self.usd)

    def _spread(self, affected: Sequence[CaseChange], room: int, commit: str) -> tuple[list[int], list[int]]:
        found = spread(as_affected(affected, self.names, self.falls), room, f"{self.seed}:{commit}")
        return [int(index) for index in found.now], [int(index) for index in found.deferred]

    def _ask(self, chosen: Sequence[int], broken: Collection[int], affected: int) -> bool:
        """Ask cases, and return whether a broken one of them fails that passed before."""
        found, confirmed = False, 0
        looks = self.policy.looks if affected <= LOCAL else 1
        for look in range(looks):
            failed = set()
            for index in chosen:
                if look and not self._affords_a_look(len(chosen)):
                    return found
                self.asked += look == 0
                is_news = self._verdict(index)
                if is_news:
                    confirmed += 1
                    failed.add(index)
                    found |= index in broken
                if self.policy.stops and may_stop(affected, confirmed):
                    return found
            chosen = [index for index in chosen if index not in failed]
        return found

    def _affords_a_look(self, cases: int) -> bool:
        return self.policy.bank is None or self._room() > cases

    def _verdict(self, index: int) -> bool:
        """Ask a case, and return whether it fails and passed when it was asked before."""
        case = self.cases.get(index)
        if case is None or case.counts is None:
            self.runs += 1  # What it would have said is not known.
            return False
        counts = case.counts

        def ask() -> bool:
            self.runs += 1
            return self._draw(counts)

        passed = self.confirm(index, case.passed is False, ask)
        is_news = not passed and case.passed is True
        if is_news and case.passed_at is not None and rate(counts) >= rate(case.passed_at):
            self.false_alarms += 1
        self._take(index, case, passed, self.now)
        return is_news

    def _take(self, index: int, case: _Known, passed: bool, day: date) -> None:
        if case.passed and not passed:
            self.falls[index] = self.falls.get(index, 0) + 1
        case.passed = passed
        if passed:
            case.passed_at = case.counts
        if self.policy.of == "boxes":
            outcome = Outcome.PASSED if passed else Outcome.FAILED
            row = review(self.rows.get(str(index)), assumed_trial(str(index), outcome, "failed"), day)
            if row is not None:
                self.rows[str(index)] = row


def usual_policies(bank: Bank, rule: AnyRule | None) -> list[ChangePolicy]:
    """Return the policies that are compared, each with what decides a verdict by `rule`."""
    confirm = ruled(rule)
    # A run asks what its change affects for a lower ratio.
    asked = ruled(None if rule is None else rule.on("wide"))
    in_batch = ChangePolicy("bank, rest in a batch", "affected", asked, bank=bank, batch=True)
    return [
        ChangePolicy("25 at random", "all", confirm, 25),
        ChangePolicy("literal", "boxes", confirm),
        ChangePolicy("25 of the affected", "affected", asked, 25),
        ChangePolicy("100 of the affected", "affected", asked, 100),
        ChangePolicy("all affected, once", "affected", asked),
        ChangePolicy("bank", "affected", asked, bank=bank),
        in_batch,
        in_batch._replace(name="  and local ones twice", looks=2),
        in_batch._replace(name="  and wide ones stop", looks=2, stops=True),
    ]


def known_of(history: ChangeHistory, policies: Sequence[ChangePolicy]) -> list[ChangePolicy]:
    """Return the policies that can be played over `history`: without counts no box moves, and no case is sound."""
    return [policy for policy in policies if history.counted or (policy.of != "boxes" and not policy.stops)]


class PolicySummary(NamedTuple):
    """A policy over several draws of the verdicts, each figure a Mean with the 95 % interval of the spread.

    `asked`, `runs` and `batched` are cases and trials a day, `usd` US dollars a day; `caught` and its parts shares of
    the changes that broke sound cases, 0..1, those that a batch caught later included, and `once` without these.
    `false_alarms` are a day. `by_change` is the share of draws in which each bad change is caught, by commit.
    """

    policy: str
    seeds: int
    asked: Mean
    runs: Mean
    batched: Mean
    deferred: Mean
    usd: Mean
    caught: Mean
    local: Mean
    wide: Mean
    once: Mean
    false_alarms: Mean
    by_change: Mapping[str, float]


def summary_of(found: Sequence[PlayedHistory], days: int) -> PolicySummary:
    """Return one policy's draws, of which there has to be one at least, as one, over so many calendar days."""

    def a_day(of: Callable[[PlayedHistory], float | None]) -> Mean:
        return mean_of([value / days for one in found if (value := of(one)) is not None], within=(0, inf))

    def share(wanted: Callable[[Caught], bool], caught: Callable[[Caught], bool]) -> Mean:
        draws = [[caught(one) for one in draw.caught if wanted(one)] for draw in found if draw.caught is not None]
        return mean_of([sum(draw) / len(draw) for draw in draws if draw], within=(0, 1))

    told: dict[str, list[bool]] = {}
    for draw in found:
        for one in draw.caught or ():
            told.setdefault(one.commit, []).append(one.is_caught)
    return PolicySummary(
        policy=found[0].policy,
        seeds=len(found),
        asked=a_day(lambda one: one.asked),
        runs=a_day(lambda one: one.runs),
        batched=a_day(lambda one: one.batched),
        deferred=a_day(lambda one: one.deferred),
        usd=a_day(lambda one: one.usd),
        caught=share(lambda _: True, lambda one: one.is_caught),
        local=share(lambda one: one.is_local, lambda one: one.is_caught),
        wide=share(lambda one: not one.is_local, lambda one: one.is_caught),
        once=share(lambda _: True, lambda one: one.once),
        false_alarms=a_day(lambda one: one.false_alarms),
        by_change={commit: sum(draws) / len(draws) for commit, draws in told.items()},
    )
