"""Conflicts: both sides of a file, from between git's markers."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from pytest_recall.schedule.merge_file import drive, merge_texts, versions
from pytest_recall.schedule.state_file import parse_state
from pytest_recall.schedule.state_head import HEADER
from tests.helpers.samples import TODAY, days, row
from tests.schedule.state_samples import many, problem, written

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


# Merged state: three texts become one, and what stands around the rows is kept


NAME = "eval/recall.yaml"
OLD = many(50)
OURS = {**OLD, "case-0003": row(5, 9, tested=TODAY, due=TODAY + days(30), last_pr="1")}
THEIRS = {**OLD, "case-0004": row(1, 0, tested=TODAY, due=TODAY + days(1), last_pr="2"), "new": row()}


def test_rows_of_both_sides_are_in_the_text() -> None:
    merged = merge_texts(written(OLD), written(OURS), written(THEIRS), NAME)
    assert merged.text == written({**OURS, **{name: THEIRS[name] for name in ("case-0004", "new")}})
    assert (len(merged.state.rows), merged.both) == (51, 0)


def test_how_many_rows_both_have_changed() -> None:
    theirs = {**THEIRS, "case-0003": row(1, 0, tested=TODAY, due=TODAY + days(1), last_pr="2")}
    assert merge_texts(written(OLD), written(OURS), written(theirs), NAME).both == 1
    assert merge_texts(None, written(OURS), written(theirs), NAME).both == 2


def test_a_deleted_row_is_gone_from_the_text() -> None:
    fewer = {name: one for name, one in OLD.items() if name != "case-0009"}
    assert merge_texts(written(OLD), written(fewer), written(THEIRS), NAME).text == written(
        {name: one for name, one in THEIRS.items() if name != "case-0009"}
    )


@pytest.mark.parametrize("swapped", [False, True])
def test_the_top_is_of_the_side_that_changed_it(swapped: bool) -> None:
    noted = written(OURS).replace("version: 1", "# mine\nversion: 1\nteam: anna")
    one, other = (written(THEIRS), noted) if swapped else (noted, written(THEIRS))
    assert "# mine\nversion: 1\nteam: anna\nrows: " in merge_texts(written(OLD), one, other, NAME).text


def test_the_names_of_folded_files_are_of_both() -> None:
    base = parse_state(written(OLD), NAME)
    one, other = [base.updated({}, folded=names) for names in (["2026-03-01-a", "2026-03-03-c"], ["2026-03-02-b"])]
    merged = parse_state(merge_texts(base.text, one, other, NAME).text, NAME)
    assert merged.folded == ("2026-03-01-a", "2026-03-02-b", "2026-03-03-c")
    assert merged.rows == OLD


@pytest.mark.parametrize("empty", ["", "\n"])
def test_a_side_without_rows(empty: str) -> None:
    assert merge_texts("", empty, written(OURS), NAME).text == written(OURS)
    assert merge_texts("", written(OURS), empty, NAME).text == written(OURS)


def test_the_driver_replaces_our_side(tmp_path: Path) -> None:
    base, ours, theirs = (tmp_path / name for name in ("base", "ours", "theirs"))
    for path, rows in ((base, OLD), (ours, OURS), (theirs, THEIRS)):
        path.write_text(written(rows), encoding="utf-8")
    # A merge of the rubric may have left that with conflict markers.
    (tmp_path / "rubric.yaml").write_text("<<<<<<< ours\n", encoding="utf-8")
    drive(base, ours, theirs, str(tmp_path / "recall.yaml"), TODAY)
    assert ours.read_text(encoding="utf-8") == merge_texts(written(OLD), written(OURS), written(THEIRS), NAME).text


def test_a_side_that_is_no_state_is_named() -> None:
    said = problem(lambda: merge_texts(written(OLD), written(OURS), HEADER + "  a: 3\n", NAME))
    assert said.startswith("eval/recall.yaml (theirs):5: a: must be a mapping in braces")
    said = problem(lambda: merge_texts(None, "x: 1\n", written(OURS), NAME))
    assert said.startswith("eval/recall.yaml (ours):1: not a state file")


def test_a_base_that_is_no_state_is_not_known() -> None:
    found, expected = (merge_texts(base, written(OURS), written(THEIRS), NAME) for base in ("no state", None))
    assert (found.text, found.both) == (expected.text, expected.both)
