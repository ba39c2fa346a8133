"""`recall state apply` without a run: after a conflict of two clones that both ran on main, no verdict is lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import State, read_state
from tests.cli.conftest import Recall
from tests.cli.samples import DATE, files, fill, recall, run_evals
from tests.helpers.remotes import ALONE, PERSON, clone, git, with_remote

LATER = "2026-03-11"
STATE = "eval/recall.yaml"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**ALONE, **PERSON}.items():
        monkeypatch.setenv(name, value)


def fails(folder: Path, *arguments: str) -> None:
    """Run git, which must find a conflict."""
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done


def state(folder: Path) -> State:
    """Return the state of a clone."""
    return read_state(folder / STATE, STATE)


def verdicts(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return box, lapses and the day of the last verdict of each case."""
    return {case_id: (r.box, r.lapses, str(r.last_tested)) for case_id, r in state(folder).rows.items()}


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Path, Path]:
    """Two clones, of which both have run on main, on one day and on the next; the first has pushed."""
    fill(tmp_path / "seed")
    (tmp_path / "seed" / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    bare = with_remote(tmp_path / "seed")
    first, second = clone(bare, "first"), clone(bare, "second")
    assert run_evals(first, "eval", "--recall-date", DATE).code == 1
    assert run_evals(second, "eval", "--recall-date", LATER).code == 1
    for folder in (first, second):
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", "Run the evals")
    git(first, "push", "--quiet")
    return first, second


BEFORE = {"later": (4, 0, "2026-03-08"), "gone": (2, 0, "2026-03-01")}
# `right` was due on the first day alone, and failed on neither; `worse` failed on both.
BOTH = {**BEFORE, "right": (3, 0, LATER), "worse": (1, 1, LATER)}


def settle(folder: Path, how: str) -> None:
    """Bring what the other clone has pushed into this one, whose own state conflicts with it."""
    git(folder, "fetch", "--quiet")
    fails(folder, how, "origin/main")
    with pytest.raises(AssertionError, match="merge-conflict marker"):
        assert recall(folder, "status").code == 0, recall(folder, "status").err
    git(folder, "checkout", "origin/main", "--", STATE)
    if how == "rebase":  # The commit has nothing left but the state, which is that of the other clone now.
        assert git(folder, "diff", "--cached") == ""
        git(folder, "rebase", "--skip")


@pytest.mark.parametrize("how", ["merge", "rebase"])
def test_no_verdict_of_either_clone_is_lost(clones: tuple[Path, Path], how: str, inside: Recall) -> None:
    first, second = clones
    theirs = state(first)
    settle(second, how)
    assert state(second).text == theirs.text
    before = files(second)
    dry = inside(second, "state", "apply", "--dry-run")
    [run] = (path.name for path in (second / "eval" / "_artifacts").glob("2*"))
    assert (dry.code, dry.out.splitlines()[0]) == (
        0,
        f"{run}: 4 finished trials; 2 rows of {STATE} would be changed",
    )
    assert files(second) == before
    done = inside(second, "state", "apply")
    assert (done.code, done.out.splitlines()[0]) == (0, f"{run}: 4 finished trials; 2 rows of {STATE} changed")
    assert verdicts(second) == BOTH
    assert sorted(name[:10] for name in state(second).folded) == [DATE, LATER]
    assert set(theirs.folded) < set(state(second).folded)
    # Once more changes nothing.
    before = files(second)
    again = inside(second, "state", "apply")
    assert again.code == 0
    assert files(second) == before
    git(second, "add", "--all")
    git(second, "commit", "--quiet", "--allow-empty", "--message", "Both")
    git(second, "push", "--quiet", "origin", "HEAD:main")
    # Nor does the first clone lack anything, once it has pulled.
    git(first, "pull", "--quiet", "--ff-only")
    before = files(first)
    assert inside(first, "state", "apply").code == 0
    assert files(first) == before
    assert verdicts(first) == BOTH


def test_whichever_side_is_taken_the_last_verdicts_are_the_same(clones: tuple[Path, Path], inside: Recall) -> None:
    first, second = clones
    of_second = state(second).text
    settle(second, "merge")
    inside(second, "state", "apply")
    (first / STATE).write_text(of_second, encoding="utf-8")
    assert inside(first, "state", "apply").code == 0
    assert verdicts(first) == {**BOTH, "worse": (1, 1, LATER)}
    assert state(first).folded == state(second).folded


def test_several_runs_are_applied_in_their_order(clones: tuple[Path, Path], inside: Recall) -> None:
    _, second = clones
    assert run_evals(second, "eval", "--recall-date", "2026-03-12").code == 1
    git(second, "commit", "--quiet", "--all", "--message", "Run the evals again")
    settle(second, "merge")
    done = inside(second, "state", "apply")
    runs = sorted(path.name for path in (second / "eval" / "_artifacts").glob("2*"))
    told = [line.partition(": ")[0] for line in done.out.splitlines() if "finished trial" in line]
    assert told == runs
    assert len(runs) == 2
    assert sorted(name[:10] for name in state(second).folded) == [DATE, LATER, "2026-03-12"]
    assert verdicts(second)["worse"] == (1, 1, "2026-03-12")


def test_runs_of_another_branch_and_runs_by_hand_are_left_out(project: Path, inside: Recall) -> None:
    (project / ".gitignore").write_text("__pycache__/\n", encoding="utf-8")
    with_remote(project)
    run_evals(project, "eval/cases.yaml::worse")
    git(project, "switch", "--quiet", "--create", "feature")
    run_evals(project)
    [path] = (project / "eval/runs").iterdir()
    path.unlink()
    git(project, "switch", "--quiet", "main")
    before = files(project)
    assert inside(project, "state", "apply").code == 0
    assert files(project) == before
    # On its own branch the run is found again, and written as it was.
    git(project, "switch", "--quiet", "feature")
    assert inside(project, "state", "apply").code == 0
    assert [one.name for one in (project / "eval/runs").iterdir()] == [path.name]
    assert (project / STATE).read_bytes() == before[STATE]


def test_a_dry_run_in_a_new_clone_changes_nothing_that_git_sees(project: Path, inside: Recall) -> None:
    with_remote(project)
    assert inside(project, "state", "apply", "--dry-run").code == 0
    assert git(project, "status", "--porcelain") == ""
