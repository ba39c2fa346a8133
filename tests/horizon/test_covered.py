"""Covered: which days have questions, whatever happened in between."""

from __future__ import annotations

from pathlib import Path

from pytest_recall.horizon.corpus import Covered, kept_in


def test_a_window_counts_once_one_of_its_questions_is_there(tmp_path: Path) -> None:
    covered = Covered(tmp_path / "qa.jsonl")
    covered.note("", 7, [1, 2], ["q1", "q2"], "m")
    covered.note("lease", 30, [2], ["q3"], "m")
    for one in (covered, Covered(tmp_path / "qa.jsonl")):
        assert one.days("", ()) == set()
        assert one.days("", {"q2"}) == {1, 2}
        assert one.days("lease", {"q2"}) == set()
        assert one.days("lease", {"q3"}) == {2}
        assert one.ids == ["q1", "q2", "q3"]


def test_a_line_that_was_cut_off_counts_for_nothing(tmp_path: Path) -> None:
    path = tmp_path / "qa.jsonl"
    Covered(path).note("", 7, [1], ["q1"], "m")
    with path.open("a") as file:
        file.write('{"session": "", "ids": ["q2"')
    again = Covered(path)
    assert again.ids == ["q1"]
    again.note("", 14, [8], ["q3"], "m")
    assert Covered(path).ids == ["q1", "q3"]


def test_the_folder_is_passed_over_by_git(tmp_path: Path) -> None:
    assert kept_in(tmp_path) == tmp_path / ".recall-bench"
    assert (tmp_path / ".recall-bench" / ".gitignore").read_text().endswith("*\n")
