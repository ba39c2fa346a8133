"""Pull requests as they come and go: six of them, over the same cases, through real git."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pytest_recall.schedule.merge_file import resolve, teach

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule.boxes import fold
from pytest_recall.schedule.state import compact, current
from pytest_recall.trials.trial import Row, Trial
from tests.helpers import programs
from tests.helpers.repository import Repository
from tests.helpers.samples import FAILED, PASSED, TODAY, days, row, trial
from tests.runs.folding import journal, remember

PULLS, ROWS, SLICE, NIGHTLY, LAG = 6, 100, 25, 3, 4
RULE = Quarantine(4, "ana")


class Run(NamedTuple):
    """What one run found, and when."""

    day: date
    pr: str | None
    trials: list[Trial]


class Traffic:
    """A repository, and the runs of which its main branch has heard."""

    def __init__(self, folder: Path, seed: int, rubric: str) -> None:
        self.draw = random.Random(seed)
        self.repository = Repository.at(folder)
        self.place = Place(folder, folder / "eval")
        self.place.eval_dir.mkdir()
        self.place.rubric.write_text(f"owner: ana\n{rubric}", encoding="utf-8")
        (folder / ".gitignore").write_text("_artifacts\n", encoding="utf-8")
        self.names = [f"case-{number:03}" for number in range(ROWS)]
        self.start = {name: self.drawn() for name in self.names[:-3]}  # Three cases have never run.
        remember(self.place, self.start)
        self.history = [self.repository.commit()]
        self.runs: list[Run] = []

    def drawn(self) -> Row:
        """Draw a row."""
        box = self.draw.randint(1, 5)
        due = TODAY + days(self.draw.randint(-3, 6))
        return row(box, box, due=due, tested=TODAY - days(5), lapses=self.draw.randint(0, 3))

    def run(self, day: date, pr: str | None) -> Run:
        """Run the slice of all pull requests, with a few fails, and write the state of the checkout."""
        trials = [trial(name, FAILED if self.draw.random() < 0.15 else PASSED, pr=pr) for name in self.names[-SLICE:]]
        done = Run(day, pr, trials)
        # Each a second after the other, as their names say, by which runs of one day are in order.
        clock = f"2026-03-10T{120000 + len(self.runs)}"
        more: dict[str, Any] = {
            "run": clock,
            "pr": pr,
            "mode": "pr" if pr else "nightly",
            "lapses": RULE.after,
            "owner": RULE.owner,
        }
        finish.apply(self.place, journal(self.place, *trials, date=day.isoformat(), **more))
        return done

    def flow(self, night: Callable[[date], object], settle: Callable[[], object], *, waits: bool = False) -> int:
        """Let pull requests be opened, run and merged, a night on main after each third; return the conflicts.

        Each branches from what main was up to four merges ago. Its checks run on the day of its merge; if it `waits`,
        on the day after that of which main was when it branched, so that main has seen later verdicts.
        """
        conflicts = 0
        for number in range(1, PULLS + 1):
            day = TODAY + days(number)
            lag = self.draw.randint(0, min(LAG, len(self.history) - 1))
            self.repository.git("switch", "-qc", f"pr-{number}", self.history[-1 - lag])
            self.runs.append(self.run(day - days(lag if waits else 0), str(number)))
            self.repository.commit()
            self.repository.git("switch", "-q", "main")
            if not self.repository.merge(f"pr-{number}"):
                conflicts += 1
                settle()
                self.repository.git("add", "-A")
                self.repository.git("commit", "-q", "--no-edit")
            if number % NIGHTLY == 0:
                night(day)
            self.history.append(self.repository.commit())
        return conflicts

    def night(self, day: date) -> None:
        """Run on main, once all pull requests of the day are merged."""
        self.runs.append(self.run(day, None))

    def replay(self) -> dict[str, Row]:
        """Return the rows after all runs, in the order of their days."""
        rows = dict(self.start)
        for run in sorted(self.runs, key=lambda run: run.day):
            rows |= fold(rows, run.trials, run.day, RULE)
        return rows


def never() -> None:
    """Stand in where no conflict may come."""
    raise AssertionError("a conflict")


def taught(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Traffic:
    """Return one whose rows git merges by the driver, which it finds where programs start at once."""
    traffic = Traffic(folder, 1, "")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "executable", str(programs.folder() / "python"))
        teach(traffic.place.eval_dir, write=True)
    traffic.history = [traffic.repository.commit()]
    return traffic


def test_rows_through_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    traffic = taught(tmp_path / "clone", monkeypatch)
    assert traffic.flow(traffic.night, never) == 0
    assert current(traffic.place).rows == traffic.replay()


def test_rows_through_resolve(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path / "clone", 2, "")

    def settle() -> None:
        assert resolve(traffic.place.state, "eval/recall.yaml", date(2100, 1, 1), write=True) is not None

    assert traffic.flow(traffic.night, settle) > PULLS / 2
    assert current(traffic.place).rows == traffic.replay()


def test_events(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path / "clone", 1, "state: events\n")

    def night(day: date) -> None:
        traffic.night(day)
        compact(traffic.place, day, keep_days=3, write=True)

    assert traffic.flow(night, never) == 0
    assert current(traffic.place).rows == traffic.replay()
    compact(traffic.place, TODAY + days(99), keep_days=0, write=True)
    assert current(traffic.place).rows == traffic.replay()


def test_events_of_branches_that_wait(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path / "clone", 2, "state: events\n")

    def night(day: date) -> None:
        compact(traffic.place, day, keep_days=7, write=True)

    assert traffic.flow(night, never, waits=True) == 0
    assert current(traffic.place).rows == traffic.replay()


def test_rows_of_branches_that_wait_keep_every_fail_that_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    traffic = taught(tmp_path / "clone", monkeypatch)
    assert traffic.flow(lambda day: None, never, waits=True) == 0
    found, expected = current(traffic.place).rows, traffic.replay()
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        assert found[name].last_tested == one.last_tested
        assert found[name].failing or not one.failing
