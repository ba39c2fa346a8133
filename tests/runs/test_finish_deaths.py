"""From a journal to the state exactly once, whatever dies in between."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.disk import write_text
from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.schedule.state_file import write_state
from pytest_recall.trials.journal import Journal
from tests.helpers.samples import FAILED, header, row, trial
from tests.runs.folding import NOON, boxes, journal, remember, rows


class Killed(BaseException):
    """Stands for SIGKILL: nothing of the program runs after it."""


STEPS = ("intent", "state", "mark")


def die(monkeypatch: pytest.MonkeyPatch, step: str, *, done: bool) -> None:
    """Let the next apply die at a step: before its file is in place, or after."""

    def dying(name: str, write: Callable[..., None]) -> Callable[..., None]:
        def killed(path: Path, text: str, **more: Any) -> None:
            found = {finish.INTENT: "intent", finish.APPLIED: "mark", "recall.yaml": "state"}[path.name]
            if found != step:
                write(path, text, **more)
                return
            if done:
                write(path, text, **more)
            raise Killed(name)

        return killed

    monkeypatch.setattr(finish, "write_text", dying("write_text", write_text))
    monkeypatch.setattr(finish, "write_state", dying("write_state", write_state))


def killed_at(place: Place, run: Path, step: str, *, done: bool) -> None:
    """Apply a run and die at a step."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        die(monkeypatch, step, done=done)
        with pytest.raises(Killed):
            finish.apply(place, run)


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_death_at_any_step_folds_once(place: Place, step: str, done: bool) -> None:
    remember(place, {"due": row(2, 2), "z": row(4, 4)})
    # A new case shows a second fold: it would be in box 2 then.
    run = journal(place, trial("new"), trial("due"))
    killed_at(place, run, step, done=done)
    in_the_state = (step, done) in [("state", True), ("mark", False), ("mark", True)]
    assert ("new" in rows(place)) is in_the_state
    again = finish.apply(place, run)
    assert (again is None) is in_the_state
    assert boxes(place) == {"due": (3, 3), "new": (1, 1), "z": (4, 4)}
    assert finish.apply(place, run) is None
    assert not (place.artifacts.folder / finish.INTENT).exists()


@pytest.mark.parametrize("done", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_the_next_run_settles_what_a_dead_one_left(place: Place, step: str, done: bool) -> None:
    dead, alive = journal(place, trial("new")), journal(place, trial("other"), trial("new", FAILED))
    killed_at(place, dead, step, done=done)
    assert finish.apply(place, alive) is not None
    finish.apply(place, dead)
    assert finish.apply(place, dead) is None
    assert finish.apply(place, alive) is None
    # The dead run's pass was before the fail of the other, whenever it is folded.
    assert boxes(place) == {"new": (1, 0), "other": (1, 1)}


def test_two_deaths_in_a_row_fold_once(place: Place) -> None:
    run = journal(place, trial("new"))
    killed_at(place, run, "state", done=False)
    killed_at(place, run, "state", done=True)
    killed_at(place, run, "mark", done=False)
    assert finish.apply(place, run) is None
    assert boxes(place) == {"new": (1, 1)}


def test_a_death_while_a_run_goes_on_folds_each_trial_once(place: Place) -> None:
    run = place.artifacts.new_run(NOON)
    with Journal(run, header(("a", "new"), ("b", "new"))) as written:
        written.append(trial("a"))
        killed_at(place, run, "mark", done=False)
        written.append(trial("b"))
        written.end(0)
    assert sorted(finish.apply(place, run) or ()) == ["b"]
    assert boxes(place) == {"a": (1, 1), "b": (1, 1)}


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"run": "x"}', '{"run": "gone", "trials": 1, "after": "0"}'])
def test_an_intent_of_no_use_is_dropped(place: Place, text: str) -> None:
    run = journal(place, trial("a"))
    (place.artifacts.folder / finish.INTENT).write_text(text, encoding="utf-8")
    assert finish.apply(place, run) is not None
    assert boxes(place) == {"a": (1, 1)}
    assert not (place.artifacts.folder / finish.INTENT).exists()


def test_a_run_from_elsewhere_is_folded_once_as_well(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = journal(place, trial("new")).rename(tmp_path / "downloaded")
    monkeypatch.chdir(tmp_path)
    killed_at(place, Path("downloaded"), "mark", done=False)
    intent = json.loads((place.artifacts.folder / finish.INTENT).read_text(encoding="utf-8"))
    digest = sha256(place.state.read_bytes()).hexdigest()
    assert intent == {"run": str(run.resolve()), "trials": 1, "after": digest}
    monkeypatch.chdir(place.eval_dir)
    assert finish.apply(place, run) is None
    assert boxes(place) == {"new": (1, 1)}
