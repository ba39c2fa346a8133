"""What differs from a commit, in real repositories."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from pytest_recall.files import git as git_module
from pytest_recall.files.errors import RecallError
from pytest_recall.files.git import NoBaseError, Repository, checked_out, committed, user_name
from tests.helpers.repository import commit, git, write


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository with two commits, the second on a branch that has left main at the first."""
    write(tmp_path, {"src/a.py": "a", "src/b.py": "b", "old.txt": "same", "eval/cases.yaml": "- id: a\n"})
    commit(tmp_path, "Begin")
    git(tmp_path, "switch", "-qc", "feature")
    write(tmp_path, {"src/a.py": "new"})
    commit(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({}, []),
        ({"eval/cases.yaml": "- id: b\n"}, ["eval/cases.yaml"]),
        ({"eval/ü \n.yaml": "untracked"}, ["eval/ü \n.yaml"]),
        ({"src/b.py": "edited", ".gitignore": "*.log\n", "eval/noise.log": "x"}, []),
    ],
)
def test_a_change_is_what_was_committed_what_was_not_and_what_is_new(
    repo: Path, files: dict[str, str], changed: list[str]
) -> None:
    write(repo, files)
    found = Repository(repo / "eval")
    base = found.base_of(["main"])
    assert found.top.resolve() == repo.resolve()
    assert found.changed(base, repo / "eval") == changed
    assert "src/a.py" in found.changed(base), "by a commit"
    commit(repo)
    assert found.changed(base, repo / "eval") == changed


def test_a_file_that_was_moved_is_there_by_both_names(repo: Path) -> None:
    git(repo, "mv", "old.txt", "moved.txt")
    found = Repository(repo)
    assert found.changed(found.base_of(["main"])) == ["moved.txt", "old.txt", "src/a.py"]


def test_what_main_did_since_is_none_of_it(repo: Path) -> None:
    git(repo, "switch", "-q", "main")
    write(repo, {"eval/cases.yaml": "by others"})
    commit(repo)
    git(repo, "switch", "-q", "feature")
    found = Repository(repo)
    assert found.changed(found.base_of(["nowhere", "main"])) == ["src/a.py"]


def test_what_was_taken_back_is_no_change(repo: Path) -> None:
    write(repo, {"src/a.py": "a"})
    found = Repository(repo)
    assert found.changed(found.base_of(["main"])) == []


def test_the_files_of_a_commit_beside_those_of_now(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    found, folder = Repository(repo), tmp_path_factory.mktemp("base")
    base, before = found.base_of(["main"]), git(repo, "status", "--porcelain")
    assert found.check_out(base, repo / "src", folder / "src", folder / "index")
    assert {path.name: path.read_text() for path in (folder / "src").iterdir()} == {"a.py": "a", "b.py": "b"}
    assert not found.check_out(base, repo / "nowhere", folder / "none", folder / "index-2")
    assert (repo / "src/a.py").read_text() == "new"
    assert git(repo, "status", "--porcelain") == before


def test_the_branch_and_where_it_stands(repo: Path) -> None:
    found = Repository(repo)
    assert (found.branch(), found.head()) == ("feature", git(repo, "rev-parse", "HEAD").strip())
    assert (found.first_of(["nowhere", "main"]), found.first_of(["nowhere"])) == ("main", "")
    git(repo, "switch", "-q", "--detach")
    assert found.branch() == ""
    git(repo, "update-ref", "refs/remotes/origin/trunk", "HEAD")
    git(repo, "symbolic-ref", "--delete", "refs/remotes/origin/HEAD")
    assert (found.default_branch(), found.has_remote()) == ("", False)
    git(repo, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    git(repo, "remote", "add", "elsewhere", ".")
    assert (found.default_branch(), found.has_remote()) == ("trunk", True)
    assert found.branches() == {"main", "feature", "trunk"}


def test_a_path_of_another_place_is_none_of_the_repository(repo: Path) -> None:
    found = Repository(repo)
    assert (found.path_of(repo / "src" / "a.py"), found.path_of(repo.parent)) == ("src/a.py", "")
    assert found.text_beside("HEAD", repo / "src" / "a.py") == "new"
    assert found.text_beside("HEAD", repo.parent / "a.py") is None


def test_a_file_as_it_was(repo: Path) -> None:
    found = Repository(repo)
    base = found.base_of(["main"])
    assert found.text_at(base, "src/a.py") == "a"
    assert found.text_at(base, "src/none.py") is None
    (repo / "bytes").write_bytes(b"\xff")
    assert found.text_at(commit(repo), "bytes") is None


def test_a_ref_that_is_not_there_is_named(repo: Path) -> None:
    for ref in ("origin/main", "--output=x"):
        with pytest.raises(NoBaseError) as caught:
            Repository(repo).base_of([ref])
        assert (caught.value.ref, caught.value.is_commit) == (ref, False)
    assert not (repo / "x").exists()


def test_a_history_without_the_base_is_named(repo: Path) -> None:
    git(repo, "switch", "-q", "--orphan", "other")
    commit(repo, "Elsewhere")
    with pytest.raises(NoBaseError) as caught:
        Repository(repo).base_of(["main"])
    assert (caught.value.ref, caught.value.is_commit) == ("main", True)


def test_no_repository_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RecallError, match=r"^git says: not a git repository"):
        Repository(tmp_path)


def test_no_git_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecallError, match=r"^there is no git here, which knows what changed; install it$"):
        Repository(tmp_path)


def test_a_git_that_cannot_be_run_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"git": "#!/bin/sh\n"})
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RecallError, match=r"^git cannot be run \(Permission denied\)$"):
        Repository(tmp_path)


def test_what_can_do_without_git_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("GIT_DIR", "elsewhere")
    assert user_name(tmp_path) == ""
    assert checked_out(tmp_path) == ("", "")
    with pytest.raises(RecallError, match=r"^git: not found; install it, or put it on the PATH$"):
        committed(tmp_path, "HEAD", ("recall.yaml",), ".yaml")


def test_a_damaged_repository_is_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, {"recall.yaml": "version: 1\n"})
    commit(tmp_path)
    blob = git(tmp_path, "rev-parse", "HEAD:recall.yaml").strip()
    (tmp_path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RecallError, match=r"^HEAD:recall\.yaml: git cannot read it \(.* missing\)$"):
        committed(tmp_path, "HEAD", ("recall.yaml",), ".yaml")


def test_a_git_that_hangs_is_one_sentence(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(git_module, "SECONDS", 0.2)
    with pytest.raises(RecallError, match=r"^git took longer than 0 s for `git rev-parse`$"):
        Repository(repo)


def test_nothing_is_fetched_of_a_partial_clone(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("partial") / "clone"
    git(repo, "config", "uploadpack.allowFilter", "true")
    subprocess.run(
        ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", repo.as_uri(), str(folder)], check=True
    )
    found = Repository(folder)
    assert found.text_at(found.base_of(["origin/feature"]), "src/a.py") is None


def test_the_commit_and_the_branch_that_are_checked_out(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD").strip()
    assert checked_out(repo / "src") == (head, "feature")
    git(repo, "switch", "-q", "--detach")
    assert checked_out(repo) == (head, "")


def test_without_a_repository_git_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "started"
    fake = tmp_path / "bin" / "git"
    write(tmp_path, {"bin/git": f"#!/bin/sh\ntouch '{started}'\necho commit\necho branch\n"})
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("GIT_DIR", raising=False)
    assert checked_out(tmp_path) == ("", "")
    assert not started.exists()
    monkeypatch.setenv("GIT_DIR", "elsewhere")
    assert checked_out(tmp_path) == ("commit", "branch")
