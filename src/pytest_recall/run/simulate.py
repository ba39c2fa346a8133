"""Simulate: a team's cases under a policy, through months of pull requests and nights, by a model of what breaks.

The decisions are the real ones: what is chosen, and how rows move. The world is a model: cases
break on their own at a constant rate, some pull requests break a few cases of what they touch,
and verdicts are wrong now and then. What it says is right as far as that model is.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from pytest_recall.core.lottery import night, pull_request
from pytest_recall.core.row import Row
from pytest_recall.core.rubric import Rubric
from pytest_recall.core.schedule import Quarantine, review
from pytest_recall.core.selection import Pick, select
from pytest_recall.core.trial import Outcome, Trial
from pytest_recall.metrics.percentiles import percentile

FIRST = date(2026, 1, 1)
Slice = Callable[[Mapping[str, Row], Collection[str], date, str], Sequence[Pick]]
"""Chooses from rows, the cases that are near the change, the date, and the seed."""


class Policy(NamedTuple):
    """A schedule: what a pull request runs, what a night runs, and whether a fail is asked again (two of three)."""

    name: str
    pull_request: Slice
    night: Slice
    confirm: bool


@dataclass(frozen=True, kw_only=True)
class World:
    """What happens. `tags` are the cases of each part of the code.

    Rates are a day: a case breaks on its own at `drift`; `pulls` are opened, stay open for a lognormal time of
    median `open_days`, and `abandoned` of them are never merged. `bad` of them break `breaks` cases of what they
    touch, which is known with chance `recall`. A verdict on a sound case is wrong with chance `flaky`. What is
    found broken is mended a day later. Nights run before the day's pull requests, or, if `late`, after them.
    The first `warm_up` of `days` are in no figure.
    """

    tags: Mapping[str, Sequence[str]]
    days: int = 240
    warm_up: int = 60
    pulls: int = 5
    open_days: float = 1.0
    abandoned: float = 0.2
    drift: float = 1 / 1600
    bad: float = 0.2
    breaks: int = 3
    recall: float = 0.8
    flaky: float = 0.03
    usd: float = 0.04
    late: bool = False
    quarantine: Quarantine | None = None

    @property
    def cases(self) -> list[str]:
        """All cases, sorted."""
        return sorted({case_id for ids in self.tags.values() for case_id in ids})


class Figures(NamedTuple):
    """What a policy came to: delays in days, of cases that broke on their own; None where there is nothing to say.

    `caught` is the share of bad pull requests that failed themselves, of `bad` ones; `again` the share of cases
    that a pull request ran while another one had them; `demotions` of sound cases, a day.
    """

    policy: str
    a_day: float
    usd: float
    slice: tuple[int, int, int]
    longest_night: int
    broke: int
    delay: float | None
    p95: float | None
    longest: float | None
    in_a_week: float | None
    bad: int
    caught: float | None
    again: float | None
    demotions: float


@dataclass
class _Pull:
    number: int
    merged: float
    asked: list[str] = field(default_factory=list)
    trials: list[tuple[str, bool, date, bool]] = field(default_factory=list)
    breaks: tuple[str, ...] = ()


def simulate(policy: Policy, world: World, seed: int = 0) -> Figures:
    """Return what `policy` comes to in `world`; the same seed is the same world for every policy."""
    return _Simulation(policy, world, seed).run()


class _Simulation:
    def __init__(self, policy: Policy, world: World, seed: int) -> None:
        self.policy = policy
        self.world = world
        self.fate = random.Random(f"{seed}:fate")  # What happens: for all policies the same.
        self.noise = random.Random(f"{seed}:noise")
        self.rows: dict[str, Row] = {}
        self.broken: dict[str, tuple[float, bool]] = {}
        self.mending: dict[str, float] = {}
        self.open: list[tuple[float, int, _Pull]] = []
        self.runs = self.asked = self.repeated = self.demoted = 0
        self.slices: list[int] = []
        self.nights: list[int] = []
        self.delays: list[float] = []
        self.lost: list[float] = []
        self.bad = self.caught = 0

    def run(self) -> Figures:
        world, number = self.world, 0
        # A team begins with one run of everything.
        for case_id in world.cases:
            self._take(case_id, True, FIRST - timedelta(days=1), True)
        names = sorted(world.tags)
        for day in range(world.days):
            if not world.late:
                self._night(day, day)
            times = sorted(self.fate.random() for _ in range(world.pulls))
            breaking = [(self.fate.random(), case_id) for case_id in world.cases if self.fate.random() < world.drift]
            happening = [(time, "pull", "") for time in times] + [(time, "break", id) for time, id in breaking]
            for time, kind, case_id in sorted(happening):
                now = day + time
                self._settle(now)
                if kind == "break":
                    self.broken.setdefault(case_id, (now, True))
                    continue
                number += 1
                self._pull(number, now, names)
            self._settle(day + 1)
            if world.late:
                self._night(day, day + 1)
        return self._figures()

    def _counts(self, now: float) -> bool:
        return now >= self.world.warm_up

    def _settle(self, now: float) -> None:
        """Merge what is to be merged by `now`, and mend what was found a day ago."""
        while self.open and self.open[0][0] <= now:
            _, _, pull = heapq.heappop(self.open)
            for trial in pull.trials:
                self._take(*trial)
            for case_id in pull.breaks:
                self.broken.setdefault(case_id, (pull.merged, False))
        for case_id in [case_id for case_id, at in self.mending.items() if at <= now]:
            del self.mending[case_id]
            self.broken.pop(case_id, None)

    def _pull(self, number: int, now: float, names: Sequence[str]) -> None:
        world, fate = self.world, self.fate
        touched = fate.choice(names)
        told = touched if fate.random() < world.recall else fate.choice(names)
        lasts = math.exp(math.log(world.open_days) + fate.gauss(0, 1))
        is_bad, is_merged = fate.random() < world.bad, fate.random() >= world.abandoned
        breaks = tuple(fate.sample(sorted(world.tags[touched]), min(world.breaks, len(world.tags[touched]))))
        pull = _Pull(number, now + lasts, breaks=breaks if is_bad else ())
        today = FIRST + timedelta(days=int(now))
        picks = self.policy.pull_request(self.rows, set(world.tags[told]), today, str(number))
        pull.asked = [pick.case_id for pick in picks]
        others = {case_id for *_, other in self.open for case_id in other.asked}
        counts = self._counts(now)
        if counts:
            self.slices.append(len(pull.asked))
            self.asked += len(pull.asked)
            self.repeated += sum(case_id in others for case_id in pull.asked)
        found = False
        for case_id in pull.asked:
            own, sound = case_id in pull.breaks, case_id not in self.broken
            passed = self._ask(case_id, own or not sound, now)
            found |= own and not passed
            if own and not passed:
                continue  # It is put right before the merge, and the row hears of a pass.
            pull.trials.append((case_id, passed, today, sound))
            if not passed:
                self._found(case_id, now)
        if pull.breaks and counts:
            self.bad += 1
            self.caught += found
        if found:
            pull.breaks = ()
        if is_merged:
            heapq.heappush(self.open, (pull.merged, number, pull))

    def _night(self, day: int, now: float) -> None:
        today = FIRST + timedelta(days=day)
        picks = self.policy.night(self.rows, (), today, today.isoformat())
        if self._counts(now):
            self.nights.append(len(picks))
        for pick in picks:
            sound = pick.case_id not in self.broken
            passed = self._ask(pick.case_id, not sound, now)
            self._take(pick.case_id, passed, today, sound)
            if not passed:
                self._found(pick.case_id, now)

    def _ask(self, case_id: str, is_broken: bool, now: float) -> bool:
        """Return whether the case passes; a fail is asked again where the policy says so."""
        passes = fails = 0
        while True:
            self.runs += self._counts(now)
            failed = is_broken or self.noise.random() < self.world.flaky
            passes, fails = passes + (not failed), fails + failed
            if not self.policy.confirm:
                return not failed
            if fails == 2 or passes == 2 or (passes and not fails):
                return fails < 2

    def _found(self, case_id: str, now: float) -> None:
        if case_id not in self.broken or case_id in self.mending:
            return
        since, alone = self.broken[case_id]
        self.mending[case_id] = now + 1
        if alone and self._counts(since):
            self.delays.append(now - since)

    def _take(self, case_id: str, passed: bool, on: date, sound: bool) -> None:
        before = self.rows.get(case_id)
        outcome = Outcome.PASSED if passed else Outcome.FAILED
        after = review(before, Trial(case_id, outcome, error="" if passed else "failed"), on, self.world.quarantine)
        if after is not None:
            self.rows[case_id] = after
        if before is not None and after is not None and before.box > 1 and after.box == 1 and sound:
            self.demoted += (on - FIRST).days >= self.world.warm_up

    def _figures(self) -> Figures:
        world = self.world
        days = world.days - world.warm_up
        # What was never found has waited until the end at least.
        waiting = [
            world.days - since
            for case_id, (since, alone) in self.broken.items()
            if alone and case_id not in self.mending and self._counts(since)
        ]
        delays = sorted(self.delays + waiting)
        sizes = sorted(self.slices)
        return Figures(
            policy=self.policy.name,
            a_day=self.runs / days,
            usd=self.runs / days * world.usd,
            slice=(sizes[0], sizes[len(sizes) // 2], sizes[-1]) if sizes else (0, 0, 0),
            longest_night=max(self.nights, default=0),
            broke=len(delays),
            delay=sum(delays) / len(delays) if delays else None,
            p95=percentile(delays, 95) if delays else None,
            longest=delays[-1] if delays else None,
            in_a_week=sum(delay <= 7 for delay in delays) / len(delays) if delays else None,
            bad=self.bad,
            caught=self.caught / self.bad if self.bad else None,
            again=self.repeated / self.asked if self.asked else None,
            demotions=self.demoted / days,
        )


def literal(rubric: Rubric, cases: Collection[str]) -> Policy:
    """Return the schedule of boxes alone."""
    return Policy(
        "literal",
        lambda rows, near, today, seed: select(cases, rows, rubric, "pr", today, seed),
        lambda rows, near, today, seed: select(cases, rows, rubric, "nightly", today, seed),
        rubric.confirm is not None,
    )


def lottery(cases: Collection[str], size: int, nightly: int, longest: int | None = None) -> Policy:
    """Return the schedule of slices of a fixed size."""
    return Policy(
        "lottery",
        lambda rows, near, today, seed: pull_request(cases, rows, near, size, today, seed),
        lambda rows, near, today, seed: night(cases, rows, nightly, today, seed, longest),
        True,
    )
