"""Which runs of a checkout the state does not hold."""

from __future__ import annotations

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.runs.job import NO_JOB
from pytest_recall.schedule.run_file import run_files
from pytest_recall.schedule.state import REMEMBERED_DAYS
from pytest_recall.trials.journal import Journal
from tests.helpers.repository import Repository
from tests.helpers.samples import ERROR, TODAY, days, header, trial
from tests.runs.folding import NOON, journal, remember


def lacking(place: Place) -> list[str]:
    """Return the names of those runs."""
    return [folder.name for folder, _ in finish.lacking(place, NO_JOB)]


@pytest.mark.parametrize("folds", [True, False])
def test_what_is_applied_is_not_lacking(place: Place, folds: bool) -> None:
    first, second = journal(place, trial("a")), journal(place, trial("b", ERROR))
    assert lacking(place) == [first.name, second.name]
    finish.apply(place, first, folds=folds)
    assert lacking(place) == [second.name]
    finish.apply(place, second, folds=folds)
    assert lacking(place) == []
    # As after a conflict in which the other side was taken.
    remember(place, {})
    for path in run_files(place.run_files).values():
        path.unlink()
    place.state.unlink(missing_ok=True)
    assert lacking(place) == [first.name, second.name]


def test_a_run_that_went_on_is_lacking_again(place: Place) -> None:
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"), run=run.name)) as written:
        written.append(trial("a"))
        finish.apply(place, run)
        assert lacking(place) == []
        written.append(trial("b"))
        assert lacking(place) == [run.name]


def test_runs_that_move_no_box_are_left_out(place: Place) -> None:
    journal(place)
    journal(place, trial("a"), writes=False)
    journal(place, trial("a"), shard="1/2")
    journal(place, trial("a"), source_kind="dataset")
    assert lacking(place) == []


def test_runs_of_another_branch_are_left_out(place: Place) -> None:
    repository = Repository.at(place.root)
    (place.root / ".gitignore").write_text("_artifacts\n", encoding="utf-8")
    repository.commit()
    on_main = journal(place, trial("a"), branch="main")
    on_branch = journal(place, trial("b"), branch="feature")
    assert lacking(place) == [on_main.name]
    repository.git("switch", "-qc", "feature")
    assert lacking(place) == [on_branch.name]


def test_runs_of_days_that_the_state_does_not_name_any_more_are_left_out(place: Place) -> None:
    old = journal(place, trial("a"))
    assert lacking(place) == [old.name]
    late = (TODAY + days(REMEMBERED_DAYS + 1)).isoformat()
    finish.apply(place, journal(place, trial("b"), date=late), folds=True)
    assert lacking(place) == []
    kept = journal(place, trial("c"), date=(TODAY + days(1)).isoformat())
    assert lacking(place) == [kept.name]
