"""`recall state merge-driver` and `recall init --git`: git merges the state file, or leaves markers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Recall
from tests.cli.test_resolve import MERGED, repository, state
from tests.helpers import programs
from tests.helpers.repository import Repository

__all__ = ["repository"]

TAUGHT = ["wrote   .gitattributes", "wrote   git config merge.recall.driver", "wrote   git config merge.recall.name"]


def test_git_merges_rows(repository: Repository, inside: Recall) -> None:
    done = inside(repository.path, "init", "--git")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:3] == TAUGHT
    assert "Every clone has to run `recall init --git`" in done.out
    assert "merge button of a hosting site ignores all this" in " ".join(done.out.split())
    assert (repository.path / ".gitattributes").read_text(encoding="utf-8") == "eval/recall.yaml merge=recall\n"
    assert repository.merge("feature")
    assert state(repository.path) == MERGED


def test_it_says_what_it_would_do_and_what_is_there(repository: Repository, inside: Recall) -> None:
    done = inside(repository.path, "init", "--git", "--dry-run")
    assert done.out.splitlines()[:3] == [line.replace("wrote", "would write") for line in TAUGHT]
    assert not (repository.path / ".gitattributes").exists()
    assert repository.git("config", "--local", "--list").count("merge.recall") == 0
    inside(repository.path, "init", "--git")
    done = inside(repository.path, "init", "--git")
    assert done.out.splitlines()[:3] == [line.replace("wrote", "kept ") + " (it is there already)" for line in TAUGHT]
    assert (repository.path / ".gitattributes").read_text(encoding="utf-8").count("merge=recall") == 1


def test_other_attributes_stay(repository: Repository, inside: Recall) -> None:
    path = repository.path / ".gitattributes"
    path.write_text("*.bin binary", encoding="utf-8")
    assert inside(repository.path, "init", "--git").code == 0
    assert path.read_text(encoding="utf-8") == "*.bin binary\neval/recall.yaml merge=recall\n"


def test_another_driver_is_not_replaced(repository: Repository, inside: Recall) -> None:
    (repository.path / ".gitattributes").write_text("eval/recall.yaml merge=union\n", encoding="utf-8")
    done = inside(repository.path, "init", "--git")
    said = ".gitattributes:1: eval/recall.yaml is merged in another way; write `eval/recall.yaml merge=recall`"
    assert done == (2, "", f"recall: {said}\n")


def test_outside_of_a_repository(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = inside(tmp_path, "init", "--git")
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith("eval: not in a git repository; run `git init` first\n")


def test_a_broken_side_is_left_with_markers(
    repository: Repository, inside: Recall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(programs.folder() / "python"))  # It starts at once.
    inside(repository.path, "init", "--git")
    path = repository.path / "eval/recall.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("box: 4", "box: 9"), encoding="utf-8")
    repository.commit()
    assert not repository.merge("feature")
    text = path.read_text(encoding="utf-8")
    assert "<<<<<<< ours" in text
    assert "box: 9" in text
    assert 'failure_note: "no"' in text
    assert "UU eval/recall.yaml" in repository.git("status", "--short")


def test_the_sentence_of_a_broken_side(tmp_path: Path, inside: Recall) -> None:
    for name in ("base", "ours", "theirs"):
        (tmp_path / name).write_text(f"version: 1\ncases: {name}\n", encoding="utf-8")
    done = inside(tmp_path, "state", "merge-driver", "base", "ours", "theirs", "eval/recall.yaml")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("recall: eval/recall.yaml (ours):2: cases: must map ids to rows; restore it from git;")
    assert done.err.endswith("; conflict markers are left in eval/recall.yaml\n")
    assert "<<<<<<< ours\ncases: ours\n" in (tmp_path / "ours").read_text(encoding="utf-8")


def test_a_driver_that_is_gone_leaves_gits_own_merge(repository: Repository, inside: Recall) -> None:
    inside(repository.path, "init", "--git")
    command = repository.git("config", "merge.recall.driver").strip()
    program = command.split()[3].rstrip(";")
    repository.git("config", "merge.recall.driver", command.replace(program, "/no/recall"))
    assert not repository.merge("feature")
    assert "<<<<<<<" in (repository.path / "eval/recall.yaml").read_text(encoding="utf-8")
