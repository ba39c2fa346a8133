"""Pull requests as they come and go: six of them, over the same cases, through real git."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_recall.cases.settings_fields import Quarantine
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule.boxes import fold as fold_row
from pytest_recall.schedule.run_file import run_files
from pytest_recall.schedule.state import current, fold, unfolded
from pytest_recall.schedule.state_file import parse_state, read_state
from pytest_recall.trials.trial import Row, Trial
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

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.repository = Repository.at(folder)
        self.place = Place(folder, folder / "eval")
        self.place.eval_dir.mkdir()
        self.place.rubric.write_text("owner: ana\n", encoding="utf-8")
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

    def flow(self, night: Callable[[date], object], *, waits: bool = False) -> None:
        """Let pull requests be opened, run and merged, a night on main after each third; no merge may conflict.

        Each branches from what main was up to four merges ago. Its checks run on the day of its merge; if it `waits`,
        on the day after that of which main was when it branched, so that main has seen later verdicts.
        """
        for number in range(1, PULLS + 1):
            day = TODAY + days(number)
            lag = self.draw.randint(0, min(LAG, len(self.history) - 1))
            self.repository.git("switch", "-qc", f"pr-{number}", self.history[-1 - lag])
            before = self.place.state.read_bytes()
            self.runs.append(self.run(day - days(lag if waits else 0), str(number)))
            assert self.place.state.read_bytes() == before
            self.repository.commit()
            self.repository.git("switch", "-q", "main")
            assert self.repository.merge(f"pr-{number}")
            if number % NIGHTLY == 0:
                night(day)
            self.history.append(self.repository.commit())

    def night(self, day: date) -> None:
        """Run on main, once all pull requests of the day are merged: only files that a commit names are deleted."""
        there, shared = set(self.files()), set(self.committed())
        self.runs.append(self.run(day, None))
        assert set(self.files()) == there - shared
        assert there - shared <= set(read_state(self.place.state, "recall.yaml").folded)

    def files(self) -> list[str]:
        """Return the names of the run files."""
        return list(run_files(self.place.run_files))

    def committed(self) -> tuple[str, ...]:
        """Return the names of the runs that the newest commit has folded."""
        text = self.repository.git("show", "HEAD:eval/recall.yaml")
        return parse_state(text, "recall.yaml").folded

    def settle(self) -> None:
        """Fold what waits, as a run on main does that tells nothing."""
        known = read_state(self.place.state, "recall.yaml")
        fold(self.place, known, unfolded(self.place, known), self.committed())

    def assert_settled(self) -> None:
        """Assert that each run is named once, and that its file goes once that is committed, which changes no row."""
        before = read_state(self.place.state, "recall.yaml")
        assert len(before.folded) == len(self.runs)
        assert set(self.files()) <= set(before.folded)
        self.repository.commit()
        self.settle()
        assert self.files() == []
        assert read_state(self.place.state, "recall.yaml").text == before.text

    def replay(self) -> dict[str, Row]:
        """Return the rows after all runs, in the order of their days."""
        rows = dict(self.start)
        for run in sorted(self.runs, key=lambda run: run.day):
            rows |= fold_row(rows, run.trials, run.day, RULE)
        return rows


@pytest.mark.parametrize("seed", [1, 2])
def test_all_runs_of_branches_and_of_main_count_in_the_order_of_their_days(tmp_path: Path, seed: int) -> None:
    traffic = Traffic(tmp_path / "clone", seed)
    traffic.flow(traffic.night)
    assert current(traffic.place).rows == traffic.replay()
    traffic.settle()
    assert read_state(traffic.place.state, "recall.yaml").rows == traffic.replay()
    traffic.assert_settled()


def test_branches_that_wait_count_in_the_order_of_their_days(tmp_path: Path) -> None:
    """As long as no run on main has folded later ones."""
    traffic = Traffic(tmp_path / "clone", 2)
    traffic.flow(lambda day: None, waits=True)
    assert current(traffic.place).rows == traffic.replay()
    traffic.settle()
    assert read_state(traffic.place.state, "recall.yaml").rows == traffic.replay()
    assert len(traffic.files()) == PULLS
    traffic.assert_settled()


def test_branches_that_wait_for_later_runs_of_main_lose_no_fail_that_stands(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path / "clone", 2)
    traffic.flow(traffic.night, waits=True)
    found, expected = current(traffic.place).rows, traffic.replay()
    assert found.keys() == expected.keys()
    for name, one in expected.items():
        assert found[name].last_tested == one.last_tested
        assert found[name].failing or not one.failing


def test_a_branch_that_is_merged_again_after_a_squash_counts_once(tmp_path: Path) -> None:
    traffic = Traffic(tmp_path / "clone", 1)
    git = traffic.repository.git
    git("switch", "-qc", "pr-1")
    traffic.runs.append(traffic.run(TODAY + days(1), "1"))
    traffic.repository.commit()
    git("switch", "-q", "main")
    git("merge", "-q", "--squash", "pr-1")
    traffic.repository.commit()
    for number in (1, 2):
        traffic.night(TODAY + days(number))
        traffic.repository.commit()
        assert len(traffic.files()) == 2 - number, "the second night deletes what the first one has folded"
    before = read_state(traffic.place.state, "recall.yaml").text
    git("switch", "-q", "pr-1")
    (tmp_path / "clone" / "more").touch()
    traffic.repository.commit()
    git("switch", "-q", "main")
    traffic.repository.merge("pr-1")
    # git may bring the run file back, or say that one side deleted it: then somebody keeps it.
    git("checkout", "-q", "pr-1", "--", "eval/runs")
    assert len(traffic.files()) == 1
    assert current(traffic.place).rows == traffic.replay()
    traffic.settle()
    assert traffic.files() == []
    assert read_state(traffic.place.state, "recall.yaml").text == before
