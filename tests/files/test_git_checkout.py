"""What git says of a checkout: ancestors, commits since a base, and what is not committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.git import Repository, subject_of
from tests.helpers import repository


@pytest.fixture
def begun(tmp_path: Path) -> tuple[repository.Repository, Repository]:
    """Return a repository of one commit, to write with and to ask."""
    made = repository.Repository.at(tmp_path)
    repository.write(tmp_path, {"a.py": "1", "eval/recall.yaml": "rows", ".gitignore": "ignored/\n"})
    made.commit()
    return made, Repository(tmp_path)


def test_a_commit_is_an_ancestor_of_itself_and_of_what_follows(
    begun: tuple[repository.Repository, Repository],
) -> None:
    made, known = begun
    first = known.head()
    made.git("checkout", "-qb", "topic")
    topic = made.commit("Topic")
    made.git("checkout", "-q", "main")
    second = made.commit("Second")
    assert known.is_ancestor(first, second)
    assert known.is_ancestor(first[:12], second)
    assert known.is_ancestor(second, second)
    assert not known.is_ancestor(second, first)
    assert not known.is_ancestor(topic, second)
    assert [known.commits_between(first, one) for one in (first, second)] == [0, 1]


@pytest.mark.parametrize("name", ["", "12", "main", "--help", 40 * "0"])
def test_what_is_no_commit_of_this_clone_is_no_ancestor(
    name: str, begun: tuple[repository.Repository, Repository]
) -> None:
    assert not begun[1].is_ancestor(name, begun[1].head())
    assert not begun[1].is_ancestor(begun[1].head(), name)


def test_a_digest_tells_one_edit_from_another(begun: tuple[repository.Repository, Repository]) -> None:
    made, known = begun
    assert known.uncommitted() == ""
    states = []
    for files in ({"a.py": "2"}, {"a.py": "3"}, {"b.py": "new"}):
        repository.write(made.path, files)
        states.append(known.uncommitted())
    (made.path / "a.py").unlink()
    states.append(known.uncommitted())
    assert len({*states, ""}) == 5
    made.git("checkout", "-q", "--", "a.py")
    (made.path / "b.py").unlink()
    assert known.uncommitted() == ""


def test_an_edit_is_the_same_one_when_it_is_made_again(begun: tuple[repository.Repository, Repository]) -> None:
    made, known = begun
    repository.write(made.path, {"a.py": "2"})
    before = known.uncommitted()
    made.git("stash", "-q")
    assert known.uncommitted() == ""
    made.git("stash", "pop", "-q")
    assert known.uncommitted() == before


def test_what_runs_write_and_what_is_ignored_is_no_edit(begun: tuple[repository.Repository, Repository]) -> None:
    made, known = begun
    written = ["eval/recall.yaml", "eval/runs/x.yaml", "__pycache__/a.pyc", "eval/__pycache__/b.pyc", "ignored/c"]
    repository.write(made.path, dict.fromkeys(written, "new"))
    assert known.uncommitted([made.path / "eval/recall.yaml", made.path / "eval/runs"]) == ""
    assert known.uncommitted() != ""
    repository.write(made.path, {"output.txt": "left by a job"})
    assert known.uncommitted([made.path / "eval"], untracked=False) == ""
    assert known.uncommitted([made.path / "eval"]) != ""


def test_the_subject_of_a_commit_is_its_first_line(begun: tuple[repository.Repository, Repository]) -> None:
    made, known = begun
    commit = made.commit("Say less (#12)\n\nIn one sentence.")
    assert subject_of(known.top, commit) == subject_of(known.top / "eval", commit[:12]) == "Say less (#12)"


@pytest.mark.parametrize("name", ["", "12", "main", "--help", 40 * "0"])
def test_what_is_no_commit_of_this_clone_has_no_subject(
    name: str, begun: tuple[repository.Repository, Repository]
) -> None:
    assert subject_of(begun[1].top, name) == ""


def test_where_there_is_no_repository_no_subject_is_known(tmp_path: Path) -> None:
    assert subject_of(tmp_path, 40 * "0") == ""
