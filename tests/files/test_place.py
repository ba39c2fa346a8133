"""Where the eval directory of a run is."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place, find_place


def folder(root: Path, name: str, *files: str) -> Path:
    """Make a folder with empty files and return it."""
    made = root / name
    made.mkdir(parents=True, exist_ok=True)
    for file in files:
        (made / file).touch()
    return made


def test_files_of_a_place(tmp_path: Path) -> None:
    place = Place(tmp_path, tmp_path / "eval")
    assert place.state == tmp_path / "eval" / "recall.yaml"
    assert place.rubric == tmp_path / "eval" / "rubric.yaml"
    assert place.artifacts.folder == tmp_path / "eval" / "_artifacts"
    assert place.lock == tmp_path / "eval" / "_artifacts" / ".lock"


def test_messages_name_files_from_the_root(tmp_path: Path) -> None:
    place = Place(tmp_path / "project", tmp_path / "project" / "eval")
    assert place.name(place.state) == "eval/recall.yaml"
    assert place.name(tmp_path / "elsewhere") == str(tmp_path / "elsewhere")


def test_what_is_given_is_taken(tmp_path: Path) -> None:
    evals = folder(tmp_path, "eval", "cases.yaml")
    found = find_place(tmp_path, tmp_path, [evals], tmp_path / "other")
    assert found == Place(tmp_path, tmp_path / "other")


@pytest.mark.parametrize(
    "marker", ["rubric.yaml", "recall.yaml", "cases.yaml", "cases.jsonl", "fees.cases.yaml", "fees.cases.jsonl"]
)
def test_a_named_folder_with_an_eval_file(tmp_path: Path, marker: str) -> None:
    evals = folder(tmp_path, "quality", marker)
    folder(tmp_path, "eval", "cases.yaml")
    assert find_place(tmp_path, tmp_path, [evals]).eval_dir == evals


def test_a_named_file(tmp_path: Path) -> None:
    evals = folder(tmp_path, "quality", "cases.yaml")
    assert find_place(tmp_path, tmp_path, [evals / "cases.yaml"]).eval_dir == evals


def test_a_folder_above_a_named_one(tmp_path: Path) -> None:
    evals = folder(tmp_path, "quality", "rubric.yaml")
    inner = folder(tmp_path, "quality/deep/deeper", "test_x.py")
    assert find_place(tmp_path, tmp_path, [inner / "test_x.py"]).eval_dir == evals


@pytest.mark.parametrize("settled", ["recall.yaml", "rubric.yaml"])
def test_case_files_in_a_folder_of_the_eval_directory_share_its_state(tmp_path: Path, settled: str) -> None:
    evals = folder(tmp_path, "eval", settled, "cases.yaml")
    inner = folder(tmp_path, "eval/fees", "late.cases.yaml")
    assert find_place(tmp_path, tmp_path, [inner]).eval_dir == evals
    assert find_place(tmp_path, tmp_path, [inner / "late.cases.yaml"]).eval_dir == evals


def test_a_state_above_any_named_path_beats_case_files(tmp_path: Path) -> None:
    cases = folder(tmp_path, "drafts", "cases.yaml")
    settled = folder(tmp_path, "quality", "recall.yaml")
    inner = folder(tmp_path, "quality/fees", "late.cases.yaml")
    assert find_place(tmp_path, tmp_path, [cases, inner]).eval_dir == settled
    assert find_place(tmp_path, tmp_path, [inner, cases]).eval_dir == settled


def test_of_two_states_the_nearest_counts(tmp_path: Path) -> None:
    outer = folder(tmp_path, "eval", "recall.yaml")
    inner = folder(tmp_path, "eval/fees", "rubric.yaml")
    assert find_place(tmp_path, tmp_path, [inner]).eval_dir == inner
    assert find_place(tmp_path, tmp_path, [outer, inner]).eval_dir == outer


def test_without_a_state_the_nearest_case_files_count(tmp_path: Path) -> None:
    folder(tmp_path, "eval", "cases.yaml")
    inner = folder(tmp_path, "eval/fees", "late.cases.yaml")
    assert find_place(tmp_path, tmp_path, [inner]).eval_dir == inner


def test_the_first_named_path_that_leads_somewhere(tmp_path: Path) -> None:
    tests = folder(tmp_path, "tests", "test_x.py")
    evals = folder(tmp_path, "quality", "cases.yaml")
    assert find_place(tmp_path, tmp_path, [tests, evals]).eval_dir == evals


def test_nothing_above_the_root_counts(tmp_path: Path) -> None:
    folder(tmp_path, ".", "recall.yaml")
    root = folder(tmp_path, "project/tests").parent
    assert find_place(root, root, [root / "tests"]).eval_dir == root / "eval"


def test_the_root_itself_counts(tmp_path: Path) -> None:
    folder(tmp_path, ".", "recall.yaml")
    assert find_place(tmp_path, tmp_path, [folder(tmp_path, "tests")]).eval_dir == tmp_path


def test_eval_where_one_stands_then_at_the_root(tmp_path: Path) -> None:
    inner = folder(tmp_path, "service")
    at_root = folder(tmp_path, "eval")
    assert find_place(tmp_path, inner).eval_dir == at_root
    here = folder(tmp_path, "service/eval")
    assert find_place(tmp_path, inner).eval_dir == here


def test_eval_with_cases_comes_before_the_directory_of_another_project_below(tmp_path: Path) -> None:
    other = folder(tmp_path, "proj/eval", "rubric.yaml", "cases.yaml")
    assert find_place(tmp_path, tmp_path, [tmp_path]).eval_dir == other
    own = folder(tmp_path, "eval", "cases.yaml")
    assert find_place(tmp_path, tmp_path, [tmp_path]).eval_dir == own
    assert find_place(tmp_path, tmp_path, [tmp_path / "proj"]).eval_dir == other


def test_where_there_is_nothing_yet(tmp_path: Path) -> None:
    assert find_place(tmp_path, tmp_path / "service") == Place(tmp_path, tmp_path / "eval")
    assert not (tmp_path / "eval").exists()
