"""Days: what a simulation plays, with real branches, runs and merges in the place of its rows and draws."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from datetime import date, timedelta
from operator import attrgetter

from pytest_recall.schedule.policies import Policy
from pytest_recall.schedule.simulate import Pull, SimulatedVerdict, Simulation, World, day_of

from pytest_recall.cases.settings import Settings
from pytest_recall.schedule.boxes import fold, quarantine_of
from pytest_recall.schedule.suspects import touches_of, with_touches
from pytest_recall.trials.record import Record
from pytest_recall.trials.series import graded
from pytest_recall.trials.trial import Outcome, Row
from rehearsal.repository import Repository
from rehearsal.upstream import SPOILT, Upstream

UPDATE = "Update the eval schedule"


class Merged:
    """What all runs on the main branch come to, by their journals alone."""

    def __init__(self, keep_days: int) -> None:
        self._keep_days = keep_days
        self._records: list[Record] = []
        self._settled: dict[str, Row] = {}
        self._waiting: list[Record] = []

    def add(self, record: Record | None) -> None:
        """Take in a run that has come to the main branch."""
        if record is not None:
            self._records.append(record)
            self._waiting.append(record)

    def settle(self, today: date) -> None:
        """Do what `recall state fold` does on a day."""
        until = (today - timedelta(days=self._keep_days)).isoformat()
        old = [record for record in self._waiting if record.header.date <= until]
        self._waiting = [record for record in self._waiting if record.header.date > until]
        self._settled = _played(self._settled, old)

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


class Rehearsal(Simulation):
    """The days of a simulation in a real repository.

    `processes` counts runs of pytest, `merges` and `conflicts` what git did; `longest` is the longest of all nights.
    """

    def __init__(
        self,
        policy: Policy,
        world: World,
        seed: int,
        rubric: Settings,
        repository: Repository,
        upstream: Upstream,
        *,
        keep_days: int,
    ) -> None:
        super().__init__(policy, world, seed)
        self.processes = self.merges = self.conflicts = self.longest = 0
        self._rubric = rubric
        self._repository = repository
        self._upstream = upstream
        self._merged = Merged(keep_days)
        self._fold = ("state", "fold", "--keep-days", str(keep_days))
        self._records: dict[int, Record | None] = {}
        self._tags = {case_id: tag for tag, ids in world.tags.items() for case_id in ids}
        self._notes: dict[int, str] = {}
        # What is asked is recorded as well, so that the next change has something to be replayed against.
        self._recording = ("--record",) if rubric.policy == "affected" else ()
        self._again = 0

    @property
    def pushed(self) -> float:
        """Trials of second pushes a day, which a simulation does not have, and no figure."""
        return self._again / (self.world.days - self.world.warm_up)

    def begin(self) -> None:
        """Run everything, without wrong verdicts as yet."""
        self._repository.begin(self._rubric_text(), self.world.tags, drives=self._rubric.state == "rows")
        self._merged.add(self._run(-1, "--recall-mode", "all", *self._recording))
        self._upstream.flaky = self.world.flaky
        self._repository.commit(UPDATE)
        self.rows = self._repository.rows()

    def ask_pull(self, pull: Pull, near: Collection[str], now: float) -> dict[str, bool]:
        """Open a pull request on a branch, and run its slice there."""
        part = self._tags[min(near if self._rubric.policy == "lottery" else pull.affected)]
        self._notes[pull.number] = f"app/{part}/note-{pull.number}.md"
        self._repository.git("switch", "-q", "-c", _branch(pull), "main")
        return self._push(pull, now, " ".join(map(SPOILT.format, pull.breaks)))

    def put_right(self, pull: Pull, now: float) -> None:
        """Push once more; what the first push found never comes to the main branch."""
        self._repository.git("switch", "-q", _branch(pull))
        self._repository.git("reset", "-q", "--hard", "HEAD~1")
        before = self.runs
        self._push(pull, now, "Put right.")
        self.runs, self._again = before, self._again + self.runs - before

    def ask_night(self, today: date, now: float) -> dict[str, bool]:
        """Run a night on the main branch."""
        print(f"day {(today - day_of(0)).days + 1} of {self.world.days}", file=sys.stderr, flush=True)
        record = self._run(now, "--recall-mode", "nightly", *self._recording)
        if self._rubric.state == "events":
            self._repository.recall(*self._fold, "--date", today.isoformat())
        self._repository.commit(UPDATE)
        self._merged.add(record)
        self._merged.settle(today)
        passes = _passes(record)
        self.longest = max(self.longest, len(passes))
        return passes

    def keep(self, told: Sequence[SimulatedVerdict], pull: Pull | None = None) -> None:
        """Merge a pull request; a night has committed what it found. Then look at the state."""
        if pull is not None:
            self.merges += 1
            self.conflicts += not self._repository.merge(_branch(pull))
            self._merged.add(self._records[pull.number])
        rows = self._repository.rows()
        for one in told:
            self._moved(one, self.rows.get(one.case_id), rows.get(one.case_id))
        self.rows = rows

    def abandon(self, pull: Pull) -> None:
        """Delete the branch of a pull request."""
        self._repository.git("branch", "-q", "-D", _branch(pull))

    def mend(self, case_id: str) -> None:
        """Take out of the prompts on the main branch what spoils a case."""
        spoilt = SPOILT.format(case_id)
        for path in self._repository.app.glob("*/note-*.md"):
            if spoilt in (text := path.read_text(encoding="utf-8")):
                path.write_text(text.replace(spoilt, "Mended."), encoding="utf-8")
        self._repository.commit(f"Mend {case_id}")

    def late(self) -> int:
        """Return how many rows are not what all verdicts come to in the order of their days."""
        return len(_differing(self.rows, self._merged.replayed()))

    def faults(self) -> list[str]:
        """Return what must not be, a sentence each."""
        faults = [f"{self.conflicts} of {self.merges} merges conflicted"] if self.conflicts else []
        if self._rubric.state == "events":
            wrong = _differing(self.rows, self._merged.folded())
            what = "are not what all merged runs come to"
        else:
            newest = {case_id: row.last_tested for case_id, row in self._merged.replayed().items()}
            wrong = _differing({case_id: row.last_tested for case_id, row in self.rows.items()}, newest)
            what = "have lost their newest verdict"
        if wrong:
            faults.append(f"{len(wrong)} rows {what}; the first of them is {wrong[0]}")
        most = self._rubric.nightly_cases
        if most is not None and self.longest > most:
            faults.append(f"a night ran {self.longest} cases, and may run {most}")
        return faults

    def _rubric_text(self) -> str:
        return self._rubric.model_dump_json(exclude_unset=True) + "\n"

    def _push(self, pull: Pull, now: float, text: str) -> dict[str, bool]:
        """Commit a note on the branch that is checked out, run the slice, commit the state, and go back to main."""
        repository = self._repository
        repository.write(self._notes[pull.number], f"Note {pull.number}. {text}\n")
        repository.commit(f"Note {pull.number}")
        near = ("--recall-near", "git:main") if self._rubric.policy == "lottery" else self._recording
        record = self._records[pull.number] = self._run(now, "--recall-pr", str(pull.number), *near)
        repository.commit(UPDATE)
        repository.git("switch", "-q", "main")
        return _passes(record)

    def _run(self, now: float, *args: str) -> Record | None:
        self._upstream.broken = {case_id for case_id, (_, alone) in self.broken.items() if alone}
        before = self._upstream.calls
        record = self._repository.pytest(day_of(now), *args)
        self.processes += 1
        self.runs += (self._upstream.calls - before) * self._counts(now)
        return record


def _branch(pull: Pull) -> str:
    return f"pr-{pull.number}"


def _passes(record: Record | None) -> dict[str, bool]:
    trials = {} if record is None else graded(record.trials)
    return {case_id: trial.outcome is Outcome.PASSED or trial.is_doubted for case_id, trial in trials.items()}


def _differing(some: Mapping[str, object], others: Mapping[str, object]) -> list[str]:
    return sorted(case_id for case_id in some.keys() | others.keys() if some.get(case_id) != others.get(case_id))
