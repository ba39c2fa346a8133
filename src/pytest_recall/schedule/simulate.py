"""Simulate months of pull requests and nights over a team's cases under a policy.

The decisions are the real ones: what is chosen, and how rows move. The world is a model: cases
break on their own at a constant rate, some pull requests break a few cases of what they touch,
and verdicts are wrong now and then. What it says is right as far as that model is.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from itertools import count
from typing import NamedTuple

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.schedule.bank import LOCAL, AffectedCase, Bank, affordable, balance, spread
from pytest_recall.schedule.boxes import released, review
from pytest_recall.schedule.change_mix import ChangeMix
from pytest_recall.schedule.policies import Policy
from pytest_recall.schedule.simulated import Figures, waited
from pytest_recall.trials.detector import TouchKind
from pytest_recall.trials.execution import assumed_trial
from pytest_recall.trials.trial import Outcome, Row, WeighedTrials

FIRST = date(2026, 1, 1)


@dataclass(frozen=True, kw_only=True)
class World:
    """What happens. `tags` are the cases of each part of the code; which of them a pull request touches can be told.

    `untold` are further parts, of which nothing tells that they are touched. Rates are a day: a case breaks on its
    own at `drift`; `pulls` are opened, stay open for a lognormal time of median `open_days`, and `abandoned` of them
    are never merged. `bad` of them break `breaks` cases of the part that they touch, which is known with chance
    `recall`. A verdict on a sound case is wrong with chance `flaky`. What is found broken is mended a day later.
    With `flakes`, each case gets one of these in its place.
    On a broken case all verdicts are fails; with chance `half` it passes half as often as it did instead.
    Nights run before the day's pull requests, or, if `late`, after them. With `nights_only` the verdicts of pull
    requests go into no row. A trial costs `usd`, None if unknown.
    With a `mix` of real changes a pull request affects as large a share of all cases as one of these did, drawn from
    all; if the mix knows, it breaks as many as that one did, and `bad` and `breaks` say nothing. Else `bad` of them
    are bad, or as many as affect `breaks` cases at least, if these are fewer: a change that affects none breaks none.
    Cases are as flaky as those of the mix, in place of `flaky`, if it knows.
    The first `warm_up` of `days` are in no figure, and of delays neither is what breaks in the last eighth: it would
    count as found soon, or not at all.
    """

    tags: Mapping[str, Sequence[str]]
    untold: Mapping[str, Sequence[str]] = field(default_factory=dict)
    days: int = 240
    warm_up: int = 60
    pulls: float = 5
    open_days: float = 1.0
    abandoned: float = 0.2
    drift: float = 1 / 1600
    bad: float = 0.2
    breaks: int = 3
    recall: float = 0.8
    flaky: float = 0.03
    flakes: Sequence[float] = ()
    half: float = 0.0
    usd: float | None = 0.04
    late: bool = False
    nights_only: bool = False
    quarantine: Quarantine | None = None
    mix: ChangeMix | None = None

    @cached_property
    def cases(self) -> list[str]:
        """All cases, sorted."""
        return sorted({case_id for parts in (self.tags, self.untold) for ids in parts.values() for case_id in ids})


class SimulatedVerdict(NamedTuple):
    """A verdict, whether the case was sound when it was given, and what a verdict by the likelihood ratio rests on."""

    case_id: str
    passed: bool
    on: date
    sound: bool
    weighed: WeighedTrials | None = None


@dataclass(eq=False)
class Pull:
    """A pull request: what its slice asked and what came of it, and what it breaks once it is merged.

    `affected` are the cases whose requests it changes, or which could be so.
    """

    number: int
    breaks: tuple[str, ...]
    is_merged: bool
    affected: Collection[str] = ()
    asked: frozenset[str] = frozenset()
    told: list[SimulatedVerdict] = field(default_factory=list)


def simulate(policy: Policy, world: World, seed: int = 0) -> Figures:
    """Return what `policy` comes to in `world`; the same seed is the same world for every policy."""
    return Simulation(policy, world, seed).run()


class Simulation:
    """What happens, day by day, and what it comes to.

    A rehearsal in a real repository plays the same events: it has the methods without an underscore of its own,
    and leaves in `rows` what the main branch knows.
    """

    def __init__(self, policy: Policy, world: World, seed: int) -> None:
        self.policy = policy
        self.world = world
        self.fate = random.Random(f"{seed}:fate")  # What happens: for all policies the same.
        self.noise = random.Random(f"{seed}:noise")
        # The parts as (cases, and what is told of a change to them).
        self.parts = [(sorted(ids), set(ids)) for _, ids in sorted(world.tags.items())]
        self.told = [near for _, near in self.parts]
        self.part_of = {case_id: part for part, ids in sorted(world.tags.items()) for case_id in ids}
        self.parts += [(sorted(ids), set()) for _, ids in sorted(world.untold.items())]
        self.rows: dict[str, Row] = {}
        self.broken: dict[str, tuple[float, bool]] = {}
        self.mending: set[str] = set()
        self.ahead: list[tuple[float, int, Pull | str]] = []  # Pull requests that close, and cases that are mended.
        self.order = count()
        self.open: list[Pull] = []
        self.enough = world.mix.reaching(world.breaks, len(world.cases)) if world.mix is not None else 0.0
        self.tries = self.runs = self.asked = self.repeated = self.demoted = self.set_apart = 0
        self.spent: dict[date, float] = {}  # By pull requests, of what is in the bank.
        dealt = random.Random(f"{seed}:flakes")
        flakes = world.flakes or (world.mix.flakes if world.mix is not None else ())
        self.worn = random.Random(f"{seed}:half")
        self.halves: dict[str, bool] = {}
        self.weighed: dict[str, WeighedTrials | None] = {}  # Of the cases that were asked last.
        self.flakes = {case_id: dealt.choice(flakes) for case_id in world.cases} if flakes else {}
        self.slices: list[int] = []
        self.nights: list[int] = []
        self.delays: list[float] = []
        self.bad = self.caught = 0

    def run(self) -> Figures:
        world, fate, number = self.world, self.fate, 0
        self.begin()
        every, more = divmod(world.pulls, 1)
        for day in range(world.days):
            if not world.late:
                self._night(day, day)
            times = [fate.random() for _ in range(int(every) + (more > 0 and fate.random() < more))]
            happening = [(time, "") for time in times]
            happening += [(fate.random(), case_id) for case_id in world.cases if fate.random() < world.drift]
            for time, case_id in sorted(happening):
                now = day + time
                self._settle(now)
                if case_id:
                    self.broken.setdefault(case_id, (now, True))
                else:
                    number += 1
                    self._pull(number, now)
            self._settle(day + 1)
            if world.late:
                self._night(day, day + 1)
        return self._figures()

    def begin(self) -> None:
        """Have one run of everything, a day before the first: nothing is broken yet, and no verdict wrong."""
        self.keep([SimulatedVerdict(case_id, True, FIRST - timedelta(days=1), True) for case_id in self.world.cases])

    def ask_pull(self, pull: Pull, near: Collection[str], now: float) -> dict[str, bool]:
        """Return which cases a pull request runs, and whether each passes."""
        if self.policy.bank is None:
            picks = self.policy.pull_request(self.rows, near, day_of(now), str(pull.number))
            chosen = [pick.case_id for pick in picks]
        else:
            chosen = self._affordable(pull, self.policy.bank, day_of(now))
        wrong = self.broken.keys() | set(pull.breaks)
        before = self.tries
        touch: TouchKind = "" if self.policy.bank is None else "local" if len(pull.affected) <= LOCAL else "wide"
        found = {case_id: self._ask(case_id, case_id in wrong, now, touch) for case_id in chosen}
        self._spend(day_of(now), self.tries - before)
        return found

    def ask_night(self, today: date, now: float) -> dict[str, bool]:
        """Return which cases a night runs, and whether each passes."""
        bank, longer = self.policy.bank, self.policy.long_night
        picks = self.policy.night(self.rows, (), today, today.isoformat())
        if bank is not None and longer is not None and balance(bank, self.spent, today) >= bank.most:
            usual, picks = len(picks), longer(self.rows, (), today, today.isoformat())
            self._spend(today, len(picks) - usual)
        return {pick.case_id: self._ask(pick.case_id, pick.case_id in self.broken, now) for pick in picks}

    def put_right(self, pull: Pull, now: float) -> None:
        """Mend what a pull request breaks, before it is merged."""

    def keep(self, told: Sequence[SimulatedVerdict], pull: Pull | None = None) -> None:
        """Take into the rows what a night has found, or a pull request that is merged."""
        for one in told:
            before = self.rows.get(one.case_id)
            outcome = Outcome.PASSED if one.passed else Outcome.FAILED
            trial = assumed_trial(one.case_id, outcome, "failed", weighed=one.weighed)
            after = review(before, trial, one.on, self.world.quarantine)
            if after is not None:
                self.rows[one.case_id] = after
            self._moved(one, before, after)

    def abandon(self, pull: Pull) -> None:
        """Close a pull request that is never merged."""

    def mend(self, case_id: str) -> None:
        """Make a case sound that was found broken."""

    def _spend(self, today: date, tries: int) -> None:
        self.spent[today] = self.spent.get(today, 0.0) + tries * (self.world.usd or 0.0)

    def _affordable(self, pull: Pull, bank: Bank, today: date) -> list[str]:
        """Return the affected cases that there is money for; parts of the code stand for differences of requests."""
        usd = self.world.usd
        room = len(pull.affected) if not usd else affordable(balance(bank, self.spent, today), usd)
        cases = [
            AffectedCase(case_id, self.part_of.get(case_id, ""), self.rows[case_id].lapses) for case_id in pull.affected
        ]
        return list(spread(cases, room, str(pull.number)).now)

    def _counts(self, now: float) -> bool:
        return now >= self.world.warm_up

    def _tells(self, since: float) -> bool:
        """Whether there is time to see how late it is found that a case has been broken `since` then."""
        return self._counts(since) and since < self.world.days - self.world.days // 8

    def _settle(self, now: float) -> None:
        """Close the pull requests that are open until `now`, and mend what was found a day ago, as it comes."""
        while self.ahead and self.ahead[0][0] <= now:
            at, _, what = heapq.heappop(self.ahead)
            if isinstance(what, str):
                self.mending.discard(what)
                self.broken.pop(what, None)
                self.halves.pop(what, None)
                self.mend(what)
                continue
            self.open.remove(what)
            if not what.is_merged:
                self.abandon(what)
                continue
            if not self.world.nights_only:
                self.keep(what.told, what)
            for case_id in what.breaks:
                self.broken.setdefault(case_id, (at, False))

    def _pull(self, number: int, now: float) -> None:
        world, fate = self.world, self.fate
        if world.mix is None:
            touched, near = fate.choice(self.parts)
            is_known, other = fate.random() < world.recall, fate.random()
            if not is_known and near:
                near = self.told[int(other * len(self.told))]
            lasts = math.exp(math.log(world.open_days) + fate.gauss(0, 1))
            is_bad, is_merged = fate.random() < world.bad, fate.random() >= world.abandoned
            breaks = tuple(fate.sample(touched, min(world.breaks, len(touched))))
            pull = Pull(number, breaks if is_bad else (), is_merged, touched)
        else:
            pull, near = self._drawn(number, world.mix)
            lasts = math.exp(math.log(world.open_days) + fate.gauss(0, 1))
        passes = self.ask_pull(pull, near, now)
        pull.asked = frozenset(passes)
        counts = self._counts(now)
        if counts:
            others: set[str] = set().union(*(other.asked for other in self.open))
            self.slices.append(len(passes))
            self.asked += len(passes)
            self.repeated += len(others & pull.asked)
        own = {case_id for case_id in pull.breaks if case_id not in self.broken and not passes.get(case_id, True)}
        # A fail of one in quarantine blocks nothing.
        found = any(released(self.rows[case_id], day_of(now)).quarantined is None for case_id in own)
        for case_id, passed in passes.items():
            passed |= found and case_id in own  # It is put right before the merge, and the row hears of that.
            weighed = None if found and case_id in own else self.weighed.get(case_id)
            pull.told.append(SimulatedVerdict(case_id, passed, day_of(now), case_id not in self.broken, weighed))
            if not passed:
                self._found(case_id, now)
        if pull.breaks and counts:
            self.bad += 1
            self.caught += found
        if found:
            pull.breaks = ()
            self.put_right(pull, now)
        self.open.append(pull)
        heapq.heappush(self.ahead, (now + lasts, next(self.order), pull))

    def _drawn(self, number: int, mix: ChangeMix) -> tuple[Pull, set[str]]:
        """Return a pull request like one of the mix, and the cases that are known to be near it."""
        world, fate = self.world, self.fate
        cases = world.cases
        history = fate.choice(mix.histories)
        reach = fate.choice(history)
        broken = reach.broken
        size = math.ceil(reach.affected * len(cases))
        if not mix.counted:
            chance = world.bad / self.enough if self.enough else 0.0
            broken = world.breaks if fate.random() < chance and size >= world.breaks else 0
        # What breaks a case has affected it, however small the set is.
        size = min(max(size, broken), len(cases))
        touched = fate.sample(cases, size)
        is_known, other = fate.random() < world.recall, fate.sample(cases, size)
        pull = Pull(number, tuple(touched[:broken]), fate.random() >= world.abandoned, touched)
        return pull, set(touched if is_known else other)

    def _night(self, day: int, now: float) -> None:
        today = FIRST + timedelta(days=day)
        passes = self.ask_night(today, now)
        if self._counts(now):
            self.nights.append(len(passes))
        self.keep(
            [
                SimulatedVerdict(case_id, passed, today, case_id not in self.broken, self.weighed.get(case_id))
                for case_id, passed in passes.items()
            ]
        )
        for case_id, passed in passes.items():
            if not passed:
                self._found(case_id, now)

    def _ask(self, case_id: str, is_broken: bool, now: float, touch: TouchKind = "") -> bool:
        """Return whether a case passes, which a change touches so; it is asked again where the policy says so."""
        rule = None if self.policy.confirm is None else self.policy.confirm.about(self.rows.get(case_id)).on(touch)
        outcomes: list[Outcome] = []
        while True:
            self.tries += 1
            self.runs += self._counts(now)
            failed = self._fails(case_id, is_broken)
            outcomes.append(Outcome.FAILED if failed else Outcome.PASSED)
            if rule is None:
                return not failed
            if (verdict := rule.decided(outcomes)) is not None:
                self.weighed[case_id] = rule.weighed(outcomes)
                return verdict is Outcome.PASSED or bool(rule.doubt(outcomes))

    def _fails(self, case_id: str, is_broken: bool) -> bool:
        flake = self.flakes.get(case_id, self.world.flaky)
        if is_broken:
            if not self.world.half or not self.halves.setdefault(case_id, self.worn.random() < self.world.half):
                return True
            flake = 1 - (1 - flake) / 2
        return self.noise.random() < flake

    def _found(self, case_id: str, now: float) -> None:
        if case_id not in self.broken or case_id in self.mending:
            return
        since, alone = self.broken[case_id]
        self.mending.add(case_id)
        heapq.heappush(self.ahead, (now + 1, next(self.order), case_id))
        if alone and self._tells(since):
            self.delays.append(now - since)

    def _moved(self, told: SimulatedVerdict, before: Row | None, after: Row | None) -> None:
        """Count a sound case that has lost its box, or is set apart."""
        if before is None or after is None or not told.sound or (told.on - FIRST).days < self.world.warm_up:
            return
        self.demoted += before.box > 1 and after.box == 1
        self.set_apart += after.quarantined is not None and after.quarantined != before.quarantined

    def _figures(self) -> Figures:
        world = self.world
        days = world.days - world.warm_up
        # What was never found has waited until the end at least.
        waiting = [
            world.days - since
            for case_id, (since, alone) in self.broken.items()
            if alone and case_id not in self.mending and self._tells(since)
        ]
        delays = self.delays + waiting
        delay, p95, longest, in_a_week = waited(delays)
        sizes = sorted(self.slices) or [0]
        return Figures(
            policy=self.policy.name,
            a_day=self.runs / days,
            usd=None if world.usd is None else self.runs / days * world.usd,
            slice=(sizes[len(sizes) // 20], sizes[len(sizes) // 2], sizes[-1]),
            longest_night=max(self.nights, default=0),
            broke=len(delays),
            delay=delay,
            p95=p95,
            longest=longest,
            in_a_week=in_a_week,
            bad=self.bad,
            caught=self.caught / self.bad if self.bad else None,
            again=self.repeated / self.asked if self.asked else None,
            demotions=self.demoted / days,
            set_apart=self.set_apart / days * 365,
            delays=tuple(self.delays),
            waits=tuple(waiting),
        )


def day_of(now: float) -> date:
    """Return the day on which it is `now`, in days since the first."""
    return FIRST + timedelta(days=math.floor(now))
