"""Conflicts: both sides of a file, from between git's markers."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from pytest_recall.schedule.merge_file import versions
from tests.schedule.state_samples import problem

TWO = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> f\nd\n"
THREE = "a\n<<<<<<< HEAD\nb\n||||||| 1234567\nx\n=======\nc\n>>>>>>> f\nd\n"


def test_two_sides() -> None:
    assert versions(TWO, "f") == (None, "a\nb\nd\n", "a\nc\nd\n", 1)


def test_with_the_base() -> None:
    assert versions(THREE, "f") == ("a\nx\nd\n", "a\nb\nd\n", "a\nc\nd\n", 1)


def test_several_conflicts_without_labels_and_an_empty_side() -> None:
    text = "<<<<<<<\na\n=======\n>>>>>>>\nb\n<<<<<<<\n=======\nc\n>>>>>>>"
    assert versions(text, "f") == (None, "a\nb\n", "b\nc\n", 2)


def test_one_conflict_without_its_base_leaves_the_base_unknown() -> None:
    assert versions(THREE + TWO, "f").base is None


def test_no_conflict() -> None:
    assert versions("a\n  =======\n", "f") == ("a\n  =======\n", "a\n  =======\n", "a\n  =======\n", 0)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a\n=======\n", 2, "`=======` has no place here"),
        (">>>>>>> x\n", 1, "`>>>>>>>` has no place here"),
        ("<<<<<<< x\n>>>>>>> y\n", 2, "`>>>>>>>` has no place here"),
        ("<<<<<<< x\na\n<<<<<<< y\n", 3, "`<<<<<<<` has no place here"),
        ("a\n<<<<<<< x\nb\n=======\nc\n", 2, "the conflict has no end"),
    ],
)
def test_markers_that_do_not_fit(text: str, line: int, said: str) -> None:
    assert problem(lambda: versions(text, "f")).startswith(f"f:{line}: {said}")


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
@pytest.mark.parametrize("seed", range(5))
def test_what_git_has_put_between_markers_comes_back(tmp_path: Path, style: str, seed: int) -> None:
    draw = random.Random(seed)
    base = [f"line {number}\n" for number in range(30)]
    sides = []
    for name in ("ours", "theirs"):
        changed = [f"{name} {line}" if draw.random() < 0.3 else line for line in base if draw.random() < 0.95]
        sides.append("".join(changed))
    for name, text in zip(("base", "ours", "theirs"), ("".join(base), *sides), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")

    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)  # Elsewhere merge-file reads no settings.

    def merged(*options: str) -> str:
        command = ["git", "-c", f"merge.conflictStyle={style}", "merge-file", "-p", *options, "ours", "base", "theirs"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    found = versions(merged(), "f")
    assert found.hunks > 0
    # Outside of the conflicts git has merged; within them it can take the one side or the other.
    assert (found.ours, found.theirs) == (merged("--ours"), merged("--theirs"))
    assert (found.base is None) is (style == "merge")
