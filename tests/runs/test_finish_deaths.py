"""From a journal to the state exactly once, whatever dies in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule import state
from pytest_recall.schedule.run_file import run_files, write_run_file
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import parse_state, write_state
from pytest_recall.trials.journal import Journal
from tests.helpers.samples import FAILED, TODAY, days, header, row, trial
from tests.runs.folding import NOON, boxes, journal, remember, rows


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the program runs after it."""


STEPS = ("before the state", "after the state", "between run files", "after the run files")


def killed_at(place: Place, run: Path, step: str) -> None:
    """Apply a run, and die at a step: the state is written first, then run files are deleted one by one."""
    delete = Path.unlink

    def dying(call: Callable[..., Any], *, done: bool) -> Callable[..., Any]:
        def killed(*given: Any, **more: Any) -> None:
            if done:
                call(*given, **more)
            raise Killed

        return killed

    with pytest.MonkeyPatch.context() as patch:
        if step.endswith("the state"):
            patch.setattr(state, "write_state", dying(write_state, done=step.startswith("after")))
        elif step == "between run files":
            patch.setattr(Path, "unlink", dying(delete, done=True))
        else:
            patch.setattr(state, "parse_state", dying(parse_state, done=False))
        with pytest.raises(Killed):
            finish.apply(place, run, folds=True)


def waiting(place: Place) -> list[str]:
    """Return the names of the run files."""
    return list(run_files(place.run_files))


def on_branches(place: Place) -> dict[str, tuple[int, int]]:
    """Let runs of two branches leave run files; return the boxes that all verdicts come to, with those of today's run.

    A new case shows a second fold: it would be in box 2 then.
    """
    for number, case_id in enumerate(("pulled", "other"), 1):
        pull = journal(place, trial(case_id), trial("due"), pr=str(number), date=(TODAY - days(1)).isoformat())
        finish.apply(place, pull, folds=False)
    return {"due": (3, 3), "new": (1, 1), "other": (1, 1), "pulled": (1, 1), "z": (4, 4)}


@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_any_step_folds_once(place: Place, step: str) -> None:
    remember(place, {"due": row(2, 2, due=TODAY - days(1)), "z": row(4, 4)})
    expected = on_branches(place)
    run = journal(place, trial("new"), trial("due"))
    before = place.state.read_bytes()
    if step == "between run files":
        killed_at(place, run, step)
        assert len(waiting(place)) == 1
    else:
        killed_at(place, run, step)
        assert len(waiting(place)) == (0 if step == "after the run files" else 2)
    committed = step != "before the state"
    assert (place.state.read_bytes() != before) is committed
    # Who reads then sees either all of the run or nothing of it, and all that waits.
    assert ("new" in current(place).rows) is committed
    assert {"pulled", "other"} <= current(place).rows.keys()
    again = finish.apply(place, run, folds=True)
    assert (again is None) is committed
    # What was left lying is deleted by the next run that is folded.
    finish.apply(place, journal(place, trial("last"), run="later"), folds=True)
    assert waiting(place) == []
    assert boxes(place) == {**expected, "last": (1, 1)}
    assert finish.apply(place, run, folds=True) is None


@pytest.mark.parametrize("step", STEPS)
def test_the_next_run_settles_what_a_dead_one_left(place: Place, step: str) -> None:
    expected = {"due": (2, 2), "other": (1, 1), "pulled": (1, 1)}
    on_branches(place)
    dead, alive = journal(place, trial("new")), journal(place, trial("own"), trial("new", FAILED))
    killed_at(place, dead, step)
    assert finish.apply(place, alive, folds=True) is not None
    finish.apply(place, dead, folds=True)
    assert not finish.apply(place, dead, folds=True)
    assert finish.apply(place, alive, folds=True) is None
    # The dead run's pass was before the fail of the other, whenever it is folded.
    assert boxes(place) == {**expected, "new": (1, 0), "own": (1, 1)}
    assert waiting(place) == []


def test_three_deaths_in_a_row_fold_once(place: Place) -> None:
    on_branches(place)
    run = journal(place, trial("new"))
    killed_at(place, run, "before the state")
    killed_at(place, run, "before the state")
    killed_at(place, run, "after the state")
    assert finish.apply(place, run, folds=True) is None
    assert boxes(place) == {"due": (2, 2), "new": (1, 1), "other": (1, 1), "pulled": (1, 1)}


@pytest.mark.parametrize("step", ["before the state", "after the state"])
def test_a_death_while_a_run_goes_on_folds_each_trial_once(place: Place, step: str) -> None:
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        killed_at(place, run, step)
        written.append(trial("b"))
        written.end(0)
    assert sorted(finish.apply(place, run) or ()) == (["b"] if step == "after the state" else ["a", "b"])
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
def test_a_death_beside_a_run_file_leaves_it_whole_or_not_at_all(place: Place, done: bool) -> None:
    run = journal(place, trial("new"))

    def dying(*given: Any) -> None:
        if done:
            write_run_file(*given)
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finish, "write_run_file", dying)
        with pytest.raises(Killed):
            finish.apply(place, run, folds=False)
    assert (finish.apply(place, run, folds=False) is None) is done
    assert len(waiting(place)) == 1
    assert {case_id: one.pass_streak for case_id, one in current(place).rows.items()} == {"new": 1}
    assert rows(place) == {}


def test_a_run_from_elsewhere_is_folded_once_as_well(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = journal(place, trial("new")).rename(tmp_path / "downloaded")
    monkeypatch.chdir(tmp_path)
    killed_at(place, Path("downloaded"), "after the state")
    monkeypatch.chdir(place.eval_dir)
    assert finish.apply(place, run) is None
    assert boxes(place) == {"new": (1, 1)}
