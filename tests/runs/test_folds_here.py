"""Where runs are folded into the rows of the state, and where they write run files, in real repositories."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.runs import finish
from pytest_recall.runs.checkout import folds_here, shared_names
from pytest_recall.runs.job import Job
from pytest_recall.schedule.run_file import run_files
from pytest_recall.schedule.state import current
from pytest_recall.schedule.state_file import State, read_state
from tests.helpers.jobs import job_of
from tests.helpers.remotes import clone, with_remote
from tests.helpers.repository import Repository
from tests.helpers.samples import trial
from tests.runs.folding import boxes, journal

SHA = "a" * 40


@pytest.fixture(autouse=True)
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git find no repository around the folder of the test, and the process be in no job."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "GITLAB_", "CI_")):
            monkeypatch.delenv(name)


@pytest.fixture
def repo(place: Place) -> Repository:
    """A repository on its branch `main`, which has a commit."""
    made = Repository.at(place.root)
    place.rubric.write_text("owner: us\n", encoding="utf-8")
    (place.root / ".gitignore").write_text("_artifacts\nevent.json\n", encoding="utf-8")
    made.commit()
    return made


def folds(place: Place, **env: str) -> bool:
    """Whether a run is folded into the rows, with these variables beside those of the process."""
    return folds_here(place, job_of({**os.environ, **env}))


def event(place: Place, **told: Any) -> str:
    """Write what GitHub tells of the event of a job, and return the path."""
    path = place.root / "event.json"
    path.write_text(json.dumps(told), encoding="utf-8")
    return str(path)


def test_without_git(place: Place) -> None:
    assert folds(place)


def test_on_the_default_branch_and_on_another(place: Place, repo: Repository) -> None:
    assert folds(place)
    repo.git("switch", "-qc", "feature")
    assert not folds(place)
    repo.git("switch", "-q", "main")
    assert folds(place)


def test_before_the_first_commit(place: Place) -> None:
    Repository.at(place.root)
    assert folds(place)


def test_a_commit_that_is_checked_out_alone(place: Place, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature")
    repo.git("switch", "-q", "--detach")
    assert folds(place)


def test_where_no_one_says_which_branch_is_the_default_one(place: Place, repo: Repository) -> None:
    """Whatever the branches are called."""
    repo.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")
    repo.git("switch", "-qc", "feature")
    assert folds(place)


def test_a_worktree_has_a_branch_of_its_own(place: Place, repo: Repository, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "beside"))
    assert not folds(Place(tmp_path / "beside", tmp_path / "beside" / "eval"))
    assert folds(place)


def test_the_remote_says_which_branch_is_the_default_one(place: Place, repo: Repository, tmp_path: Path) -> None:
    repo.git("branch", "-m", "main", "trunk")
    repo.git("clone", "-q", "--bare", str(place.root), str(tmp_path / "trunk.git"))
    there = clone(tmp_path / "trunk.git", "cloned")
    cloned = Place(there, there / "eval")
    assert folds(cloned)
    Repository(there).git("switch", "-qc", "main")
    assert not folds(cloned), "a branch of another name is the default one"


def test_a_branch_is_none_of_its_remote(place: Place, tmp_path: Path) -> None:
    (place.root / "a").touch()
    there = clone(with_remote(place.root), "cloned")
    cloned = Place(there, there / "eval")
    assert folds(cloned)
    Repository(there).git("switch", "-qc", "origin-main")
    assert not folds(cloned)


# Jobs


@pytest.mark.parametrize("detached", [True, False])
@pytest.mark.parametrize("branch", ["main", "feature"])
def test_a_job_of_a_pull_request(place: Place, repo: Repository, detached: bool, branch: str) -> None:
    """Whatever is checked out: GitHub checks out a merge of it with its target."""
    repo.git("switch", "-qC", branch)
    if detached:
        repo.git("switch", "-q", "--detach")
    ref = {"GITHUB_REF": "refs/pull/7/merge", "GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": branch}
    assert not folds(place, **ref)
    told = event(place, pull_request={"number": 7}, repository={"default_branch": "main"})
    assert not folds(place, GITHUB_EVENT_PATH=told)
    assert not folds(place, **ref, GITHUB_EVENT_PATH=told)


def test_a_job_of_a_merge_queue(place: Place, repo: Repository) -> None:
    name = f"gh-readonly-queue/main/pr-7-{SHA}"
    repo.git("switch", "-q", "--detach")
    assert not folds(place, GITHUB_REF=f"refs/heads/{name}", GITHUB_REF_NAME=name)


@pytest.mark.parametrize("detached", [True, False])
def test_a_job_of_a_push(place: Place, repo: Repository, detached: bool) -> None:
    told = event(place, repository={"default_branch": "main"})
    for branch in ("main", "feature"):
        repo.git("switch", "-qC", branch)
        if detached:
            repo.git("switch", "-q", "--detach")
        env = {"GITHUB_REF": f"refs/heads/{branch}", "GITHUB_REF_NAME": branch, "GITHUB_EVENT_PATH": told}
        assert folds(place, **env) == (branch == "main")


def test_the_event_says_which_branch_is_the_default_one(place: Place, repo: Repository) -> None:
    told = {"GITHUB_EVENT_PATH": event(place, repository={"default_branch": "develop"})}
    assert not folds(place, **told)
    repo.git("switch", "-qc", "develop")
    assert folds(place, **told)
    assert not folds(place), "the clone alone does not know it"
    for nothing in ({}, {"default_branch": None}, {"default_branch": 3}):
        assert not folds(place, GITHUB_EVENT_PATH=event(place, repository=nothing))


def test_a_shallow_clone_of_one_commit(place: Place, repo: Repository, tmp_path: Path) -> None:
    """As actions/checkout makes it: no `origin/HEAD`, and the event alone knows the default branch."""
    repo.git("branch", "-m", "main", "trunk")
    repo.git("switch", "-qc", "feature")
    repo.git("clone", "-q", "--bare", str(place.root), str(tmp_path / "there.git"))
    for branch in ("trunk", "feature"):
        made = Repository.at(tmp_path / f"job-{branch}")
        made.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
        made.git("remote", "add", "origin", (tmp_path / "there.git").as_uri())
        made.git("fetch", "-q", "--depth=1", "origin", f"+refs/heads/{branch}:refs/remotes/origin/{branch}")
        made.git("checkout", "-q", "-B", branch, f"refs/remotes/origin/{branch}")
        job = Place(made.path, made.path / "eval")
        told = event(place, repository={"default_branch": "trunk"})
        assert folds(job, GITHUB_EVENT_PATH=told) == (branch == "trunk")
        assert folds(job), "where the default branch is not known"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"CI_COMMIT_BRANCH": "main", "CI_COMMIT_REF_NAME": "main"}, True),
        ({"CI_COMMIT_BRANCH": "feature", "CI_COMMIT_REF_NAME": "feature"}, False),
        ({"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "feature"}, False),
        ({"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "main"}, False),
        ({"CI_COMMIT_BRANCH": "main", "CI_COMMIT_REF_NAME": "main", "CI_DEFAULT_BRANCH": "develop"}, False),
        ({"CI_COMMIT_BRANCH": "develop", "CI_COMMIT_REF_NAME": "develop", "CI_DEFAULT_BRANCH": "develop"}, True),
    ],
)
def test_a_job_of_gitlab(place: Place, repo: Repository, env: dict[str, str], expected: bool) -> None:
    """Which checks out a commit alone."""
    repo.git("switch", "-q", "--detach")
    assert folds(place, **{"GITLAB_CI": "true", "CI_DEFAULT_BRANCH": "main", **env}) is expected


# What a run does there


def test_a_run_goes_where_the_checkout_says(place: Place, repo: Repository) -> None:
    repo.git("switch", "-qc", "feature")
    first = journal(place, trial("a"))
    assert finish.target(place, folds=folds(place)) == "eval/runs"
    finish.apply(place, first)
    assert (boxes(place), len(run_files(place.run_files))) == ({}, 1)
    repo.git("switch", "-q", "main")
    # It came along, and is of the other branch: git does not know it.
    finish.apply(place, journal(place, trial("e")))
    assert boxes(place) == {"e": (1, 1)}
    repo.git("switch", "-q", "feature")
    repo.git("add", "eval/runs")
    repo.git("commit", "-qm", "Run")
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "feature")
    assert finish.target(place, folds=folds(place)) == "eval/recall.yaml"
    waiting = list(run_files(place.run_files))
    finish.apply(place, journal(place, trial("b")))
    # No commit has the fold yet: the file is still there, and is named.
    assert (boxes(place), list(run_files(place.run_files))) == ({"a": (1, 1), "b": (1, 1), "e": (1, 1)}, waiting)
    assert set(waiting) < set(folded(place))
    assert set(current(place).rows) == {"a", "b", "e"}
    repo.commit()
    finish.apply(place, journal(place, trial("d")))
    assert (boxes(place), len(run_files(place.run_files))) == ({"a": (1, 1), "b": (1, 1), "d": (1, 1), "e": (1, 1)}, 0)
    assert set(waiting) < set(folded(place))
    finish.apply(place, journal(place, trial("c")), job=Job(number=7))
    assert (sorted(boxes(place)), len(run_files(place.run_files))) == (["a", "b", "d", "e"], 1)


# Which state is everyone's


def folded(place: Place) -> tuple[str, ...]:
    """Return the names of the runs that the rows hold."""
    return read_state(place.state, "recall.yaml").folded


def told(place: Place, *names: str) -> None:
    """Write a state in which runs of these names are folded."""
    place.state.write_text(State({}, "").updated({}, folded=names), encoding="utf-8")


def names_of(place: Place, ref: str = "") -> tuple[str, ...] | None:
    """Return the names in the state that everyone has."""
    return shared_names(place, job_of(os.environ), ref)


def test_without_git_there_is_no_other_state(place: Place) -> None:
    told(place, "2026-03-10-a")
    assert names_of(place) is None


def test_without_a_remote_it_is_the_one_that_is_committed(place: Place, repo: Repository) -> None:
    told(place, "2026-03-10-a")
    assert names_of(place) == (), "a commit without a state"
    repo.commit()
    told(place, "2026-03-10-a", "2026-03-11-b")
    assert names_of(place) == ("2026-03-10-a",)
    assert Repository.at(place.root.parent / "fresh").git("status", "--porcelain") == ""


def test_where_no_one_says_which_branch_of_the_remote_it_is_nothing_is_shared(place: Place, repo: Repository) -> None:
    told(place, "2026-03-10-a")
    repo.commit()
    repo.git("symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    assert names_of(place) == ("2026-03-10-a",), "there is no remote"
    repo.git("remote", "add", "origin", ".")
    assert names_of(place) == ()
    assert names_of(place, "HEAD") == ("2026-03-10-a",)


def test_before_the_first_commit_it_is_empty(place: Place) -> None:
    Repository.at(place.root)
    told(place, "2026-03-10-a")
    assert names_of(place) == ()


def test_with_a_remote_it_is_the_one_of_its_default_branch(place: Place, repo: Repository, tmp_path: Path) -> None:
    told(place, "2026-03-10-a")
    repo.commit()
    repo.git("clone", "-q", "--bare", str(place.root), str(tmp_path / "there.git"))
    there = clone(tmp_path / "there.git", "cloned")
    cloned = Place(there, there / "eval")
    told(cloned, "2026-03-10-a", "2026-03-11-b")
    Repository(there).commit()
    assert names_of(cloned) == ("2026-03-10-a",), "what is committed here alone nobody else has"
    assert names_of(cloned, "HEAD") == ("2026-03-10-a", "2026-03-11-b")
    Repository(there).git("push", "-q", "origin", "HEAD")
    assert names_of(cloned) == ("2026-03-10-a", "2026-03-11-b")


@pytest.mark.parametrize("text", ["<<<<<<< ours\n", "- a\n"])
def test_one_that_is_damaged_names_nothing(place: Place, repo: Repository, text: str) -> None:
    place.state.write_text(text, encoding="utf-8")
    repo.commit()
    told(place, "2026-03-10-a")
    assert names_of(place) == ()


def test_with_a_remote_a_file_stays_until_the_fold_is_pushed(place: Place, repo: Repository, tmp_path: Path) -> None:
    repo.git("clone", "-q", "--bare", str(place.root), str(tmp_path / "there.git"))
    there = clone(tmp_path / "there.git", "cloned")
    cloned, repository = Place(there, there / "eval"), Repository(there)
    repository.git("switch", "-qc", "feature")
    finish.apply(cloned, journal(cloned, trial("a")))
    repository.commit()
    repository.git("switch", "-q", "main")
    assert repository.merge("feature")
    waiting = list(run_files(cloned.run_files))
    for number, pushes in enumerate((False, True, True)):
        finish.apply(cloned, journal(cloned, trial("b")))
        assert boxes(cloned)["a"] == (1, 1)
        assert list(run_files(cloned.run_files)) == (waiting if number < 2 else [])
        repository.commit()
        if pushes:
            repository.git("push", "-q", "origin", "HEAD")
    assert set(waiting) < set(folded(cloned))
