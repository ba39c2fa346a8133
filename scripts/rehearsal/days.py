"""Days: what a team does and what breaks, with real branches, runs and merges."""

from __future__ import annotations

import heapq
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import count
from operator import attrgetter

from pytest_recall.cases.settings import Settings
from pytest_recall.schedule.boxes import fold, quarantine_of
from pytest_recall.schedule.suspects import touches_of, with_touches
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row
from rehearsal.repository import Repository
from rehearsal.upstream import SPOILT, Upstream

UPDATE = "Update the eval schedule"
FIRST = date(2026, 1, 5)
"""The first day."""


@dataclass(frozen=True, kw_only=True)
class Team:
    """A team and its cases, by the part of the app that they ask.

    A day has so many `pulls`; each edits the prompt of one part, and stays open for `open_days` in the median. Of all,
    `bad` spoil `breaks` cases of their part, and `abandoned` are never merged. Of those that are merged, and spoil
    nothing, `going_on` are squashed, and merged again after `on_days`. A case breaks by itself at the rate `drift` a
    day. A verdict on a sound case is wrong in the share `flaky`.
    """

    parts: Mapping[str, Sequence[str]]
    days: int
    pulls: int
    drift: float
    bad: float = 0.2
    breaks: int = 3
    flaky: float = 0.03
    open_days: float = 1.0
    abandoned: float = 0.1
    going_on: float = 0.3
    on_days: float = 1.0

    @property
    def cases(self) -> list[str]:
        """All cases, sorted."""
        return sorted(case_id for ids in self.parts.values() for case_id in ids)


@dataclass(eq=False)
class Pull:
    """A pull request for a part of the app, and the cases that it spoils once it is merged.

    One that `goes_on` is merged a second time, some days after it was squashed.
    """

    number: int
    part: str
    breaks: tuple[str, ...]
    is_merged: bool
    goes_on: bool = False
    is_squashed: bool = False
    record: Record | None = None

    @property
    def branch(self) -> str:
        """The name of its branch."""
        return f"pr-{self.number}"

    @property
    def note(self) -> str:
        """The path of the prompt that it adds."""
        return f"app/{self.part}/note-{self.number}.md"


class Merged:
    """What all runs on the main branch come to, by their journals alone."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._settled: dict[str, Row] = {}
        self._waiting: list[Record] = []

    def add(self, record: Record | None) -> None:
        """Take in a run that has come to the main branch."""
        if record is not None:
            self._records.append(record)
            self._waiting.append(record)

    def settle(self) -> None:
        """Do what a run on the main branch does, which folds all that waits there."""
        self._settled, self._waiting = self.folded(), []

    def replayed(self) -> dict[str, Row]:
        """Return the rows after all verdicts, in the order of their days."""
        return _played({}, self._records)

    def folded(self) -> dict[str, Row]:
        """Return the rows if verdicts older than a row that was folded by then are no news."""
        return _played(self._settled, self._waiting)


def _played(rows: dict[str, Row], records: Sequence[Record]) -> dict[str, Row]:
    rows = dict(rows)
    for record in sorted(records, key=attrgetter("header.date", "header.run")):
        rows |= fold(rows, record.trials, date.fromisoformat(record.header.date), quarantine_of(record.header))
        rows |= with_touches(rows, touches_of(record.header, graded(record.trials)))
    return rows


class Rehearsal:
    """The days of a team in a real repository.

    `processes` counts runs of pytest, `merges` and `conflicts` what git did, and `again` the second pushes; `bad` pull
    requests spoilt something, of which `caught` were red. Of the branches that went on after they were squashed
    `brought_back` have brought a run file that was folded by then. `slices` and `nights` are how many cases each run
    asked, and `delays` for how many days a case was broken by itself before a run told.
    """

    def __init__(
        self,
        team: Team,
        seed: int,
        rubric: Settings,
        repository: Repository,
        upstream: Upstream,
    ) -> None:
        self.processes = self.merges = self.conflicts = self.again = self.bad = self.caught = self.brought_back = 0
        self.slices: list[int] = []
        self.nights: list[int] = []
        self.delays: list[float] = []
        self.rows: dict[str, Row] = {}
        self._team = team
        self._fate = random.Random(f"{seed}:fate")
        self._rubric = rubric
        self._repository = repository
        self._upstream = upstream
        self._merged = Merged()
        self._wrong: list[str] = []
        self._broken: dict[str, float | None] = {}  # Since when by itself; None by a merge.
        self._mending: set[str] = set()
        # Pull requests that close, and cases that are mended, by their time; the number keeps the order of equal ones.
        self._ahead: list[tuple[float, int, Pull | str]] = []
        self._order = count()

    def run(self) -> None:
        """Play all days. Raises StepFailedError."""
        team, fate, numbers = self._team, self._fate, count(1)
        self._begin()
        for day in range(team.days):
            self._settle(day)
            self._night(day)
            happening = [(fate.random(), "") for _ in range(team.pulls)]
            happening += [(fate.random(), case_id) for case_id in team.cases if fate.random() < team.drift]
            for time, case_id in sorted(happening):
                self._settle(day + time)
                if case_id:
                    self._broken.setdefault(case_id, day + time)
                else:
                    self._pull(next(numbers), day + time)
        self._settle(team.days)

    def late(self) -> int:
        """Return how many rows are not what all verdicts come to in the order of their days."""
        return len(_differing(self.rows, self._merged.replayed()))

    def faults(self) -> list[str]:
        """Return what must not be, a sentence each."""
        faults = [f"{self.conflicts} of {self.merges} merges conflicted"] if self.conflicts else []
        replayed = self._merged.replayed()
        told = {case_id: row.last_tested for case_id, row in self.rows.items()}
        newest = {case_id: row.last_tested for case_id, row in replayed.items()}
        for wrong, what in (
            (_differing(self.rows, self._merged.folded()), "are not what all merged runs come to"),
            (_differing(told, newest), "have lost their newest verdict"),
        ):
            if wrong:
                faults.append(f"{len(wrong)} rows {what}; the first of them is {wrong[0]}")
        return [*faults, *self._wrong]

    def _begin(self) -> None:
        """Run everything, without wrong verdicts as yet."""
        rubric = self._rubric.model_dump_json(exclude_unset=True) + "\n"
        self._repository.begin(rubric, self._team.parts)
        self._merged.add(self._run(-1, "--recall-mode", "all"))
        self._merged.settle()
        self._upstream.flaky = self._team.flaky
        self._repository.commit(UPDATE)
        self.rows = self._repository.rows()

    def _night(self, day: int) -> None:
        """Run a night on the main branch."""
        print(f"day {day + 1} of {self._team.days}", file=sys.stderr, flush=True)
        before = self._repository.folded()
        record = self._run(day, "--recall-mode", "nightly")
        self._repository.commit(UPDATE)
        self._merged.add(record)
        self._merged.settle()
        files = set(self._repository.run_files())
        for left, what in ((files - self._repository.folded(), "not folded"), (files & before, "not deleted")):
            if left:
                self._wrong.append(f"the night of day {day + 1} has {what} {len(left)} run files, such as {min(left)}")
        self.rows = self._repository.rows()
        failed = _failed(record)
        self.nights.append(0 if record is None else len(record.header.picks))
        self._found(failed, day)

    def _pull(self, number: int, now: float) -> None:
        """Open a pull request, and push once more if it is red for what it spoils."""
        team, fate = self._team, self._fate
        part = fate.choice(sorted(team.parts))
        spoilt = tuple(fate.sample(sorted(team.parts[part]), min(team.breaks, len(team.parts[part]))))
        is_bad, is_merged = fate.random() < team.bad, fate.random() >= team.abandoned
        lasts = math.exp(math.log(team.open_days) + fate.gauss(0, 1))
        pull = Pull(number, part, spoilt if is_bad else (), is_merged, fate.random() < team.going_on)
        self._repository.git("switch", "-q", "-c", pull.branch, "main")
        self._push(pull, now, " ".join(map(SPOILT.format, pull.breaks)))
        failed = _failed(pull.record)
        self.slices.append(0 if pull.record is None else len(pull.record.header.picks))
        self._found(failed, now)
        self.bad += is_bad
        if failed.intersection(pull.breaks):
            self.caught += 1
            self.again += 1
            self._repository.git("switch", "-q", pull.branch)
            self._repository.git("reset", "-q", "--hard", "HEAD~1")
            pull.breaks = ()
            self._push(pull, now, "Put right.")
        heapq.heappush(self._ahead, (now + lasts, next(self._order), pull))

    def _push(self, pull: Pull, now: float, text: str) -> None:
        """Commit a note on the branch that is checked out, run the slice, commit its run file, and go back to main."""
        repository = self._repository
        repository.write(pull.note, f"Note {pull.number}. {text}\n")
        repository.commit(f"Note {pull.number}")
        pull.record = self._run(now, "--recall-pr", str(pull.number), "--recall-base", "main")
        repository.commit(UPDATE)
        repository.git("switch", "-q", "main")

    def _settle(self, now: float) -> None:
        """Merge or delete the branches that are open until `now`, and mend what was found a day ago, as it comes."""
        while self._ahead and self._ahead[0][0] <= now:
            ends, _, what = heapq.heappop(self._ahead)
            if isinstance(what, str):
                self._mend(what)
            elif what.is_squashed:
                self._merge_again(what)
            elif what.is_merged:
                self._merge(what, ends)
            else:
                self._repository.git("branch", "-q", "-D", what.branch)

    def _merge(self, pull: Pull, now: float) -> None:
        """Merge a pull request; one that goes on is squashed, and its branch stays."""
        pull.is_squashed = pull.goes_on and not pull.breaks
        self.merges += 1
        self.conflicts += not self._repository.merge(pull.branch, squash=pull.is_squashed)
        self._merged.add(pull.record)
        self.rows = self._repository.rows()
        self._broken.update(dict.fromkeys(pull.breaks))
        if pull.is_squashed:
            heapq.heappush(self._ahead, (now + self._team.on_days, next(self._order), pull))

    def _merge_again(self, pull: Pull) -> None:
        """Merge a branch that was squashed, whose run file a night has folded since: no row may change."""
        before = self._repository.run_files()
        self._repository.git("switch", "-q", pull.branch)
        self._repository.write(f"app/{pull.part}/TODO-{pull.number}.txt", "It goes on.\n")
        self._repository.commit(f"Go on with note {pull.number}")
        self._repository.git("switch", "-q", "main")
        self.merges += 1
        self.conflicts += not self._repository.merge(pull.branch)
        self.brought_back += len(self._repository.run_files()) > len(before)
        if changed := _differing(self.rows, self._repository.rows()):
            self._wrong.append(f"what {pull.branch} brought back has changed {len(changed)} rows, such as {changed[0]}")

    def _found(self, failed: set[str], now: float) -> None:
        """Have what is broken, and was found, mended in a day."""
        for case_id in failed & self._broken.keys() - self._mending:
            self._mending.add(case_id)
            heapq.heappush(self._ahead, (now + 1, next(self._order), case_id))
            if (since := self._broken[case_id]) is not None:
                self.delays.append(now - since)

    def _mend(self, case_id: str) -> None:
        """Make a case sound: take out of the prompts on the main branch what spoils it."""
        self._mending.discard(case_id)
        self._broken.pop(case_id, None)
        spoilt = SPOILT.format(case_id)
        for path in self._repository.app.glob("*/note-*.md"):
            if spoilt in (text := path.read_text(encoding="utf-8")):
                path.write_text(text.replace(spoilt, "Mended."), encoding="utf-8")
        self._repository.commit(f"Mend {case_id}")

    def _run(self, now: float, *args: str) -> Record | None:
        self._upstream.broken = {case_id for case_id, since in self._broken.items() if since is not None}
        self.processes += 1
        # What is asked is recorded as well, so that the next change has something to be replayed against.
        return self._repository.pytest(day_of(now), *args, "--record")


def day_of(now: float) -> date:
    """Return the day on which it is `now`, in days since the first."""
    return FIRST + timedelta(days=math.floor(now))


def _failed(record: Record | None) -> set[str]:
    """Return the cases whose fail is confirmed."""
    trials = {} if record is None else graded(record.trials)
    return {case_id for case_id, trial in trials.items() if trial.outcome is Outcome.FAILED and not trial.is_doubted}


def _differing(some: Mapping[str, object], others: Mapping[str, object]) -> list[str]:
    return sorted(case_id for case_id in some.keys() | others.keys() if some.get(case_id) != others.get(case_id))
