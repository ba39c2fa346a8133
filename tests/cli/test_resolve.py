"""`recall state resolve`: from a file with conflict markers to the merged state, or nothing changed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_recall.schedule.state_file import read_state
from pytest_recall.trials.trial import Row
from tests.cli.conftest import Recall
from tests.helpers import programs
from tests.helpers.repository import Repository
from tests.helpers.samples import TODAY, days, row
from tests.schedule.state_samples import written

BASE = {"a": row(3, 3), "b": row(3, 3), "c": row(2, 2), "d": row(2, 2)}
PASSED = {
    name: row(old.box + 1, old.pass_streak + 1, tested=TODAY, due=TODAY + days(14 if old.box == 3 else 7), last_pr="1")
    for name, old in BASE.items()
}
FAILED = row(1, 0, tested=TODAY, due=TODAY + days(1), last_pr="2", failure_note="no", failure_pr="2", lapses=1)
OURS = {**BASE, "a": PASSED["a"], "c": PASSED["c"]}
THEIRS = {**BASE, "a": FAILED, "c": FAILED, "d": PASSED["d"]}
MERGED = {"a": FAILED, "b": BASE["b"], "c": FAILED, "d": PASSED["d"]}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """A repository with two branches that have tested the same cases."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    repository = Repository.at(tmp_path / "clone")
    write(repository, BASE)
    repository.commit()
    repository.git("switch", "-qc", "feature")
    write(repository, THEIRS)
    repository.commit()
    repository.git("switch", "-q", "main")
    write(repository, OURS)
    repository.commit()
    return repository


def write(repository: Repository, rows: dict[str, Row]) -> None:
    """Write the state file."""
    (repository.path / "eval").mkdir(exist_ok=True)
    (repository.path / "eval/recall.yaml").write_text(written(rows), encoding="utf-8")


def state(folder: Path, name: str = "eval/recall.yaml") -> dict[str, Row]:
    """Return the rows of a state file."""
    return read_state(folder / name, name).rows


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_a_conflicted_merge(repository: Repository, style: str, inside: Recall) -> None:
    repository.git("config", "merge.conflictStyle", style)
    assert not repository.merge("feature")
    before = (repository.path / "eval/recall.yaml").read_bytes()
    done = inside(repository.path, "state", "resolve", "--dry-run")
    assert done == (0, "eval/recall.yaml: would be merged: 4 rows, 2 of them changed on both sides\n", "")
    assert (repository.path / "eval/recall.yaml").read_bytes() == before
    done = inside(repository.path, "state", "resolve")
    told = "eval/recall.yaml: merged: 4 rows, 2 of them changed on both sides; next: `git add eval/recall.yaml`\n"
    assert done == (0, told, "")
    assert state(repository.path) == MERGED


@pytest.mark.parametrize(("style", "ends"), [("merge", "\n"), ("diff3", "\n"), ("zdiff3", "\n"), ("diff3", "\r\n")])
def test_a_file_that_has_left_its_merge_behind(
    repository: Repository, style: str, ends: str, inside: Recall, tmp_path: Path
) -> None:
    repository.git("config", "merge.conflictStyle", style)
    repository.merge("feature")
    text = (repository.path / "eval/recall.yaml").read_text(encoding="utf-8")
    assert text.count("<<<<<<<") == (2 if style != "merge" else text.count("<<<<<<<"))
    path = tmp_path / "left.yaml"
    path.write_bytes(text.replace("\n", ends).encode())
    done = inside(tmp_path, "state", "resolve", "left.yaml")
    assert (done.code, done.err) == (0, "")
    assert state(tmp_path, "left.yaml") == MERGED
    assert [one.name for one in tmp_path.iterdir() if one.name != "clone"] == ["left.yaml"]


def test_a_run_names_the_command(repository: Repository, inside: Recall) -> None:
    repository.merge("feature")
    (repository.path / "eval/cases.yaml").write_text("[]\n", encoding="utf-8")
    done = inside(repository.path, "status")
    assert done.code == 2
    assert "merge-conflict marker; run `recall state resolve`, then run again" in done.err


def test_a_file_added_on_both_sides(tmp_path: Path, inside: Recall) -> None:
    repository = Repository.at(tmp_path / "clone")
    repository.commit()
    for branch, pr in (("feature", "1"), ("main", "2")):
        if branch == "feature":
            repository.git("switch", "-qc", branch)
        else:
            repository.git("switch", "-q", branch)
        write(repository, {"a": row(1, 1, tested=TODAY, due=TODAY + days(1), last_pr=pr)})
        repository.commit()
    assert not repository.merge("feature")
    assert inside(repository.path, "state", "resolve").code == 0
    assert state(repository.path) == {"a": row(2, 2, tested=TODAY, due=TODAY + days(3), last_pr="2")}


def test_nothing_to_do(repository: Repository, inside: Recall) -> None:
    before = (repository.path / "eval/recall.yaml").read_bytes()
    assert inside(repository.path, "state", "resolve") == (0, "eval/recall.yaml: no conflict; nothing to do\n", "")
    assert (repository.path / "eval/recall.yaml").read_bytes() == before


def test_what_was_resolved_by_hand_is_left(repository: Repository, inside: Recall) -> None:
    repository.merge("feature")
    write(repository, {"mine": row()})
    assert inside(repository.path, "state", "resolve").out == "eval/recall.yaml: no conflict; nothing to do\n"
    assert state(repository.path) == {"mine": row()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<<<<<<< a\n=======\n", "eval/recall.yaml:1: the conflict has no end"),
        ("=======\n", "eval/recall.yaml:1: `=======` has no place here"),
        ("<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n", "eval/recall.yaml (ours):1: not a state file"),
        ("version: 2\ncases:\n<<<<<<< a\n=======\n>>>>>>> b\n", "eval/recall.yaml (ours):1: version 2 is unknown"),
    ],
)
def test_what_cannot_be_merged_stays(tmp_path: Path, text: str, said: str, inside: Recall) -> None:
    path = tmp_path / "eval/recall.yaml"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    done = inside(tmp_path, "state", "resolve")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"recall: {said}")
    assert done.err.count("\n") == 1
    assert path.read_text(encoding="utf-8") == text


def test_mistakes_are_one_sentence(tmp_path: Path, inside: Recall) -> None:
    done = inside(tmp_path, "state", "resolve", "none.yaml")
    assert done == (2, "", "recall: none.yaml: no such file; give the path of the state file with the conflict\n")
    done = inside(tmp_path, "state", "resolve", "none.yaml", "--dir", "x")
    assert done == (2, "", "recall: --dir has no effect with FILE; give one of them\n")


# `recall state merge-driver` and `recall init --git`: git merges the state file, or leaves markers


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
