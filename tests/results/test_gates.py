"""Gates after a run: over what the state knows and what the run has found, wherever its verdicts are written."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.cases.gate import Gate
from pytest_recall.cases.settings import Settings
from pytest_recall.cases.settings_file import read_settings
from pytest_recall.files.eval_directory import Place
from pytest_recall.results.gates import gates_of, loosened_gates
from pytest_recall.results.standing import Standing
from pytest_recall.runs import finish
from pytest_recall.schedule.run_file import run_files
from pytest_recall.schedule.state import current, fold, unfolded
from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.trial import Row, Trial
from tests.helpers.repository import Repository
from tests.helpers.samples import ERROR, FAILED, SKIPPED, TODAY, WEAK, failing, row, trial
from tests.runs.folding import journal, remember

IDS = [f"r{n}" for n in range(6)]
CASES = dict.fromkeys(IDS, ("refunds", "facts")) | {"h": ("hours", "tone")}
LATER = {"due": TODAY + timedelta(days=7)}
KNOWN: dict[str, Row] = {"r0": failing(tested=TODAY - timedelta(days=2))} | {one: row(3, 3, **LATER) for one in IDS[1:]}
GATES = "owner: us\ngates: [{scenario: refunds, at_least: 0.8}]\n"


@pytest.fixture(params=[True, False], ids=["rows", "run files"])
def folds(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether runs are folded into the rows, as on the default branch."""
    found: bool = request.param
    monkeypatch.setattr(finish, "folds_here", lambda *given: found)
    return found


@pytest.fixture
def gated(place: Place, folds: bool) -> Place:
    """An eval directory with a gate on the refunds, of which one case is known to fail and five pass."""
    place.rubric.write_text(GATES, encoding="utf-8")
    remember(place, KNOWN)
    return place


def ran(place: Place, *trials: Trial, day: int = 0, **more: Any) -> Standing:
    """Make a run and fold it in; return how the gate stands by its journal and the state after it."""
    folder = journal(place, *trials, date=(TODAY + timedelta(days=day)).isoformat(), **more)
    finish.apply(place, folder)
    return stands(place, folder)


def stands(place: Place, folder: Path) -> Standing:
    """Return how the gate stands after the run in `folder`, by the state as it is now."""
    rubric = read_settings(place.rubric, "rubric.yaml")
    (found,) = gates_of(read_journal(folder), rubric, CASES, current(place).rows)
    return found


def counts(standing: Standing) -> tuple[int, int, int, int]:
    """Return cases, those with a verdict, those that passed, and those of this run."""
    return standing.cases, standing.verdicts, standing.passed, standing.fresh


def test_a_gate_is_over_the_state_and_the_run(gated: Place) -> None:
    found = ran(gated, trial("r1"), trial("h", FAILED))
    assert (counts(found), found.status) == ((6, 6, 5, 1), "held")
    found = ran(gated, trial("r2", FAILED), day=1)
    assert (counts(found), found.status) == ((6, 6, 4, 1), "missed")
    # The next run knows of it, though it asks another case.
    assert counts(ran(gated, trial("r0"), day=2)) == (6, 6, 5, 1)


def test_where_the_verdicts_are_written_makes_no_difference(gated: Place, folds: bool) -> None:
    folder = journal(gated, trial("r1", FAILED), date=TODAY.isoformat())
    finish.apply(gated, folder)
    assert bool(run_files(gated.run_files)) == (not folds)
    before = stands(gated, folder)
    known = read_state(gated.state, "recall.yaml")
    fold(gated, known, unfolded(gated, known))
    assert run_files(gated.run_files) == {}
    assert stands(gated, folder) == before
    assert counts(before) == (6, 6, 4, 1)


@pytest.mark.parametrize("outcome", [ERROR, SKIPPED])
def test_a_third_outcome_leaves_the_verdict_before_it(gated: Place, outcome: Any) -> None:
    found = ran(gated, trial("r1", outcome), trial("r0", outcome))
    assert (counts(found), found.status) == ((6, 6, 5, 0), "held")


def test_a_fail_that_counts_for_nothing_is_none(gated: Place) -> None:
    found = ran(gated, trial("r1", FAILED, unproven=(WEAK,), counts_for_schedule=False))
    assert counts(found) == (6, 6, 5, 0)


def test_a_replayed_fail_counts_in_its_run_and_in_no_later_one(gated: Place) -> None:
    assert counts(ran(gated, trial("r1", FAILED, source="replayed", counts_for_schedule=False))) == (6, 6, 4, 1)
    assert counts(ran(gated, trial("r2"), day=1)) == (6, 6, 5, 1)


def test_a_baseline_is_somebody_else(gated: Place) -> None:
    assert counts(ran(gated, trial("r1"), trial("r1", FAILED, arm="raw", counts_for_schedule=False))) == (6, 6, 5, 1)


def test_cases_in_quarantine_are_left_out_and_counted(gated: Place) -> None:
    remember(gated, {**KNOWN, "r0": KNOWN["r0"]._replace(quarantined=TODAY, owner="ana")})
    found = ran(gated, trial("r0", FAILED))
    assert (counts(found), found.apart, found.status) == ((5, 5, 5, 0), 1, "held")


@pytest.mark.parametrize(
    ("known", "status"), [(4, "too few verdicts"), (5, "held")], ids=["fewer than the gate needs", "as many"]
)
def test_a_rate_of_few_verdicts_is_none(gated: Place, known: int, status: str) -> None:
    remember(gated, {one: row(3, 3, **LATER) for one in IDS[: known - 1]})
    found = ran(gated, trial("r5"))
    assert (counts(found), found.status) == ((6, known, known, 1), status)


def test_a_row_without_a_case_counts_for_nothing(gated: Place) -> None:
    remember(gated, {**KNOWN, "gone": failing()})
    assert counts(ran(gated, trial("r1"))) == (6, 6, 5, 1)


def test_a_case_that_only_the_run_knows_counts_where_it_was_asked(gated: Place) -> None:
    marked = trial("tests/test_a.py::test_b", FAILED, scenario="refunds", dimension="facts")
    assert counts(ran(gated, marked)) == (7, 7, 5, 1)


def test_a_run_over_chosen_cases_is_held_to_no_gate(gated: Place) -> None:
    record = read_journal(journal(gated, trial("r1", FAILED), scheduled=False, writes=False))
    rubric = read_settings(gated.rubric, "rubric.yaml")
    assert gates_of(record, rubric, CASES, current(gated).rows) == ()
    assert gates_of(record, Settings(owner="us"), CASES, {}) == ()


# What a change has loosened

LOOSE = (Gate(scenario="refunds", at_least=0.7),)


def test_what_a_change_asks_less_for_than_its_base(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "eval")
    repository = Repository.at(tmp_path)
    place.eval_dir.mkdir()
    place.rubric.write_text(GATES, encoding="utf-8")
    base = repository.commit()
    told = ("gate `refunds` lowered from 0.8 to 0.7 by this change",)
    assert loosened_gates(place, LOOSE, base) == told
    assert len(loosened_gates(place, (), base)) == 1
    assert loosened_gates(place, LOOSE, "") == loosened_gates(place, LOOSE, 40 * "c") == ()


@pytest.mark.parametrize("installed", [True, False])
def test_without_git_nothing_is_known_to_be_loosened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if not installed:
        monkeypatch.setenv("PATH", "")
    assert loosened_gates(Place(tmp_path, tmp_path / "eval"), LOOSE, 40 * "c") == ()
