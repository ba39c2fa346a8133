"""git behind `recall ci push`: what is said where it is not there, hangs, or has nothing to push to."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.errors import RecallError
from pytest_recall.forge import push
from pytest_recall.forge.push import GitError, Remote
from tests.helpers.remotes import ALONE, PERSON
from tests.helpers.repository import commit, git


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a commit."""
    for name, value in {**ALONE, **PERSON}.items():
        monkeypatch.setenv(name, value)
    commit(tmp_path)
    return tmp_path


def program(folder: Path, line: str) -> Path:
    """Put another git into a folder, and return that."""
    (folder / "bin").mkdir()
    (folder / "bin" / "git").write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    (folder / "bin" / "git").chmod(0o755)
    return folder / "bin"


def test_a_commit_alone_is_no_branch(repo: Path) -> None:
    git(repo, "switch", "-q", "--detach")
    with pytest.raises(RecallError, match=r"^git: no branch is checked out; give --branch$"):
        Remote(repo, "origin", None)
    assert Remote(repo, "origin", "evals").branch == "evals"


def test_what_git_refuses_is_said_with_what_it_was_to_do(repo: Path) -> None:
    remote = Remote(repo, "origin", None)
    (repo / "eval").mkdir()
    (repo / "eval" / "recall.yaml").touch()
    assert remote.commit(repo, "eval", "recall.yaml", "Update") is not None
    assert remote.commit(repo, "eval", "_artifacts", "Update") is None
    (repo / "eval" / "recall.yaml").write_text("version: 1\n", encoding="utf-8")
    with pytest.raises(GitError, match=r"^git commit: Aborting commit due to empty commit message\.$"):
        remote.commit(repo, "eval", "_artifacts", "")


def test_without_git_nothing_is_pushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecallError, match=r"^git: is not installed; install it$"):
        Remote(tmp_path, "origin", None)


def test_a_git_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(program(tmp_path, "exec /bin/sleep 60")))
    monkeypatch.setattr(push, "SECONDS", 0.1)
    with pytest.raises(GitError, match=r"^git rev-parse: no end after 0\.1 s; look at the connection$"):
        Remote(tmp_path, "origin", None)


def test_a_branch_that_the_remote_lacks_is_known_from_its_refs(repo: Path) -> None:
    """Git's own sentence is not looked at: another version of it may say the same in other words."""
    git(repo, "remote", "add", "origin", "other.git")
    git(repo, "init", "-q", "--bare", "other.git")
    with pytest.raises(GitError, match=r"^git: origin has no branch `main`; push it first"):
        Remote(repo, "origin", None).tip()
    git(repo, "push", "-q", "origin", "main")
    assert Remote(repo, "origin", None).tip() == git(repo, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize("is_named", [True, False])
def test_a_remote_that_cannot_be_asked_is_said_in_gits_words(repo: Path, is_named: bool) -> None:
    if is_named:
        git(repo, "remote", "add", "origin", "nowhere.git")
    with pytest.raises(GitError, match=r"^git ls-remote: fatal: ") as caught:
        Remote(repo, "origin", None).tip()
    assert ("is not the name of a remote of this clone" in str(caught.value)) is not is_named
