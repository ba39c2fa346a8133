"""Play months of pull requests and nights over cases that break by themselves, and say how soon that is noticed.

What is asked, what trials come to and how rows move is decided by the package, as in a run. The calendar, what breaks
and which verdicts are wrong is drawn at random. No change affects a case, so that only the schedule can find a break.
"""

from __future__ import annotations

import heapq
import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import count
from typing import NamedTuple

from verdicts import is_fail, verdict

from pytest_recall.metrics.intervals import percentile
from pytest_recall.schedule.boxes import review
from pytest_recall.schedule.selection import Pick, Room, night, pull_request
from pytest_recall.trials.series import AnyRule
from pytest_recall.trials.trial import Row, Trial

FIRST = date(2026, 1, 1)
MENDED_AFTER = 1.0
"""Days from the fail of a broken case until it is mended."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """A team, its cases and its days.

    It opens so many `pulls` a day, each of which stays open for a lognormal time of median `open_days`; the share
    `abandoned` of them is never merged, and the verdicts of these go into no row. `drift` is the rate a day at which a
    case breaks by itself; from then on it never passes, or half as often as before if it is `half_dead`. A sound case
    fails with a chance that is dealt to it out of `flakes`. A trial costs `usd` US dollars.

    The night comes before the day's pull requests, or after them if it is `night_last`. Cases begin unseen, and nights
    take them in; if `at_once`, one run of all of them comes first. The first `warm_up` of `days` are in no figure.
    """

    cases: int = 800
    pulls: int = 5
    open_days: float = 1.0
    abandoned: float = 0.2
    drift: float = 1 / 1600
    half_dead: bool = False
    flakes: Sequence[float] = (0.03,)
    usd: float = 0.04
    night_last: bool = False
    at_once: bool = False
    days: int = 240
    warm_up: int = 60

    @property
    def last_break(self) -> int:
        """The day from which on breaks are in no figure: there is too little time left to find them."""
        return self.days - self.days // 8


class Sizes(NamedTuple):
    """The sizes in a rubric, in cases: the night's, and a pull request's."""

    nightly_cases: int
    max_due_cases: int
    new_traffic_sample: int
    box_1_cases: int

    @property
    def room(self) -> Room:
        """What a pull request has room for."""
        return Room(self.box_1_cases, self.max_due_cases, self.new_traffic_sample)


class DriftFigures(NamedTuple):
    """What the schedule came to over one draw.

    `usd` and `trials` are a day, with those that confirm a fail. `pull_request` is the mean number of cases in one,
    `night` that in one, and `longest_night` the most. `delay_mean` and `delay_p95` are days from a break to the verdict
    that shows it; what is never found has waited until the end. `demotions` are sound cases a day that lose their box.
    """

    usd: float
    trials: float
    pull_request: float
    night: float
    longest_night: int
    broken: int
    delay_mean: float | None
    delay_p95: float | None
    demotions: float


def play_drift(team: Team, sizes: Sizes, rule: AnyRule, seed: int = 0) -> DriftFigures:
    """Return what the schedule comes to; for the same seed the same happens under all sizes and rules."""
    return Months(team, sizes, rule, seed).play()


class Months:
    """The days of a team, as events in the order of their time, which is in days since `FIRST`."""

    def __init__(self, team: Team, sizes: Sizes, rule: AnyRule, seed: int) -> None:
        self.team, self.sizes, self.rule = team, sizes, rule
        self.noise = random.Random(f"{seed}:noise")
        self.cases = [f"case-{number:05}" for number in range(team.cases)]
        self.rows: dict[str, Row] = {}
        self.broken: dict[str, float] = {}  # Since when.
        self.in_repair: set[str] = set()
        self.delays: list[float] = []
        self.trials = self.demotions = 0
        self.nights: list[int] = []
        self.pull_requests: list[int] = []
        self._agenda: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self._plan(random.Random(f"{seed}:events"))

    def play(self) -> DriftFigures:
        """Return what the days come to."""
        if self.team.at_once:
            verdicts = {case_id: self._verdict(case_id, -1) for case_id in self.cases}
            self._review(verdicts, day_of(-1), sound=())
        while self._agenda and self._agenda[0][0] < self.team.days:
            now, _, happen = heapq.heappop(self._agenda)
            happen(now)
        return self._figures()

    def _plan(self, events: random.Random) -> None:
        """Draw all that happens whatever is asked."""
        team = self.team
        self.flakes = {case_id: events.choice(team.flakes) for case_id in self.cases}
        number = count(1)
        for day in range(team.days):
            self._at(day + (0.999 if team.night_last else 0.0), self._night)
            for _ in range(team.pulls):
                open_days = math.exp(math.log(team.open_days) + events.gauss(0, 1))
                lasts = None if events.random() < team.abandoned else open_days
                self._at(day + events.random(), partial(self._pull_request, f"{next(number)}", lasts))
            for case_id in self.cases:
                if events.random() < team.drift:
                    self._at(day + events.random(), partial(self._break, case_id))

    def _at(self, time: float, happen: Callable[[float], None]) -> None:
        heapq.heappush(self._agenda, (time, next(self._order), happen))

    def _night(self, now: float) -> None:
        today = day_of(now)
        sizes = self.sizes
        picks = night(
            self.cases, self.rows, sizes.nightly_cases, sizes.new_traffic_sample, today, seed=today.isoformat()
        )
        verdicts = self._ask(picks, now)
        if self._counts(now):
            self.nights.append(len(picks))
        self._review(verdicts, today, sound=verdicts.keys() - self.broken.keys())

    def _pull_request(self, name: str, lasts: float | None, now: float) -> None:
        """Run one, which is merged after it has been open for so many days; None for never."""
        today = day_of(now)
        picks = pull_request(self.cases, self.rows, self.sizes.room, today, seed=name)
        verdicts = self._ask(picks, now)
        if self._counts(now):
            self.pull_requests.append(len(picks))
        if lasts is not None:
            sound = verdicts.keys() - self.broken.keys()
            self._at(now + lasts, lambda _: self._review(verdicts, today, sound))

    def _break(self, case_id: str, now: float) -> None:
        self.broken.setdefault(case_id, now)

    def _mend(self, case_id: str, now: float) -> None:
        del self.broken[case_id]
        self.in_repair.discard(case_id)

    def _ask(self, picks: Iterable[Pick], now: float) -> dict[str, Trial]:
        """Return the verdicts on `picks`; broken cases that fail are mended."""
        verdicts = {pick.case_id: self._verdict(pick.case_id, now) for pick in picks}
        for case_id, trial in verdicts.items():
            if is_fail(trial) and case_id in self.broken and case_id not in self.in_repair:
                self.in_repair.add(case_id)
                self._at(now + MENDED_AFTER, partial(self._mend, case_id))
                if self._is_measured(case_id):
                    self.delays.append(now - self.broken[case_id])
        return verdicts

    def _verdict(self, case_id: str, now: float) -> Trial:
        rate = 1 - self.flakes[case_id]
        if case_id in self.broken:
            rate = rate / 2 if self.team.half_dead else 0.0
        trial, trials = verdict(case_id, self.rows.get(case_id), self.rule, lambda: self.noise.random() < rate)
        self.trials += trials * self._counts(now)
        return trial

    def _review(self, verdicts: Mapping[str, Trial], day: date, sound: Iterable[str]) -> None:
        """Move the rows by verdicts of `day`; `sound` are the cases that were so when they were asked."""
        sound = set(sound)
        for case_id, trial in verdicts.items():
            before = self.rows.get(case_id)
            after = review(before, trial, day)
            if after is None:
                continue
            self.rows[case_id] = after
            if before is not None and case_id in sound and self._counts((day - FIRST).days):
                self.demotions += before.box > 1 and after.box == 1

    def _counts(self, now: float) -> bool:
        return now >= self.team.warm_up

    def _is_measured(self, case_id: str) -> bool:
        return self.team.warm_up <= self.broken[case_id] < self.team.last_break

    def _figures(self) -> DriftFigures:
        team = self.team
        days = team.days - team.warm_up
        hidden = [case_id for case_id in self.broken.keys() - self.in_repair if self._is_measured(case_id)]
        delays = sorted([*self.delays, *(team.days - self.broken[case_id] for case_id in hidden)])
        return DriftFigures(
            usd=self.trials * team.usd / days,
            trials=self.trials / days,
            pull_request=_mean(self.pull_requests),
            night=_mean(self.nights),
            longest_night=max(self.nights, default=0),
            broken=len(delays),
            delay_mean=_mean(delays) if delays else None,
            delay_p95=percentile(delays, 95),
            demotions=self.demotions / days,
        )


def day_of(now: float) -> date:
    """Return the day of a time in days since `FIRST`."""
    return FIRST + timedelta(days=math.floor(now))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
