"""Finding case files: patterns, skipped folders, and links that lead in circles."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import (
    DEFAULT_PATTERNS,
    Artifacts,
    find_case_files,
    find_files,
    is_case_file,
    is_left_by_runs,
    meant_for,
)


def make(root: Path, *names: str) -> None:
    """Make empty files."""
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


def found(root: Path, *patterns: str) -> list[str]:
    """Return the names of the case files that are found."""
    paths = find_case_files(root, (*DEFAULT_PATTERNS, *patterns))
    return [path.relative_to(root).as_posix() for path in paths]


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("eval/cases.yaml", True),
        ("eval/cases.jsonl", True),
        ("deep/down/eval/cases.yaml", True),
        ("billing.cases.yaml", True),
        ("deep/billing.cases.jsonl", True),
        ("cases.yaml", False),
        ("other/cases.yaml", False),
        ("eval/rubric.yaml", False),
        ("eval/cases.json", False),
        ("eval/cases.yaml.bak", False),
        ("billing.cases.txt", False),
        ("eval/cases.yml", False),
        ("eval/cases/billing.yaml", False),
    ],
)
def test_default_patterns(name: str, fits: bool) -> None:
    assert is_case_file(Path("root", name)) is fits


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("checks/*.yml", "a/checks/one.yml", True),
        ("checks/*.yml", "a/checks/deep/one.yml", False),
        ("*.yaml", "anything.yaml", True),
        ("*", "script.py", False),
        ("*", "rows.jsonl", True),
    ],
)
def test_own_patterns(pattern: str, name: str, fits: bool) -> None:
    assert is_case_file(Path("root", name), [pattern]) is fits


def test_found_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = ["b/eval/cases.yaml", "a/z.cases.yaml", "a/b.cases.jsonl", "top.cases.yaml", "a/b/c/eval/cases.jsonl"]
    make(tmp_path, *names, "a/notes.yaml", "eval/recall.yaml")
    assert found(tmp_path) == [
        "top.cases.yaml",
        "a/b.cases.jsonl",
        "a/z.cases.yaml",
        "a/b/c/eval/cases.jsonl",
        "b/eval/cases.yaml",
    ]


def test_own_patterns_beside_the_default_ones(tmp_path: Path) -> None:
    make(tmp_path, "eval/cases.yaml", "eval/checks/more.yml", "other/more.yml")
    assert found(tmp_path, "checks/*.yml") == ["eval/cases.yaml", "eval/checks/more.yml"]


@pytest.mark.parametrize(
    "folder", ["_artifacts", ".venv", ".git", "node_modules", "__pycache__", "venv", "build", "dist"]
)
def test_skipped_folders(tmp_path: Path, folder: str) -> None:
    make(tmp_path, f"{folder}/x.cases.yaml", f"deep/{folder}/down/eval/cases.yaml", "eval/cases.yaml")
    assert found(tmp_path) == ["eval/cases.yaml"]


def test_a_folder_that_is_named_is_not_skipped(tmp_path: Path) -> None:
    make(tmp_path, "build/x.cases.yaml")
    assert found(tmp_path / "build") == ["x.cases.yaml"]


def test_a_file_that_is_named(tmp_path: Path) -> None:
    make(tmp_path, "x.cases.yaml", "y.yaml")
    assert list(find_case_files(tmp_path / "x.cases.yaml")) == [tmp_path / "x.cases.yaml"]
    assert list(find_case_files(tmp_path / "y.yaml")) == []
    assert list(find_case_files(tmp_path / "gone")) == []


def test_links_that_lead_in_circles(tmp_path: Path) -> None:
    make(tmp_path, "eval/cases.yaml", "a/b/x.cases.yaml")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "eval" / "self").symlink_to(tmp_path / "eval", target_is_directory=True)
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "broken.cases.yaml").symlink_to(tmp_path / "broken.cases.yaml")
    names = [name for name in found(tmp_path) if not name.startswith("broken")]
    assert names == ["a/b/x.cases.yaml", "eval/cases.yaml"]


def test_a_folder_linked_twice_is_entered_once(tmp_path: Path) -> None:
    make(tmp_path, "outside/x.cases.yaml")
    root = tmp_path / "root"
    root.mkdir()
    for name in ("one", "two"):
        (root / name).symlink_to(tmp_path / "outside", target_is_directory=True)
    assert found(root) == ["one/x.cases.yaml"]


def test_a_linked_file_counts(tmp_path: Path) -> None:
    make(tmp_path, "rows.yaml")
    (tmp_path / "x.cases.yaml").symlink_to(tmp_path / "rows.yaml")
    assert found(tmp_path) == ["x.cases.yaml"]


def test_any_test_for_files(tmp_path: Path) -> None:
    make(tmp_path, "a.txt", "b/c.txt", "b/d.md", "skip/e.txt")
    paths = find_files(tmp_path, lambda path: path.suffix == ".txt", ["sk*"])
    assert [path.name for path in paths] == ["a.txt", "c.txt"]


def test_what_runs_left_behind_is_passed_over(tmp_path: Path) -> None:
    Artifacts(tmp_path / "eval").make()
    make(tmp_path, "eval/_artifacts/a.txt", "other/_artifacts/b.txt", "eval/cassettes/c.ndjson", "eval/cassettes/d.txt")
    assert [path.name for path in find_files(tmp_path, lambda path: True, ())] == ["d.txt", "b.txt"]


@pytest.mark.parametrize(
    ("name", "is_left"),
    [
        ("eval/_artifacts", True),
        ("other/_artifacts", False),  # Without the .gitignore of a run, it is another tool's.
        ("binary/_artifacts", False),
        ("eval/_artifacts/a.txt", False),
        ("eval/cassettes", False),
        ("eval/cassettes/scenario/a.ndjson", True),
        ("eval/a.ndjson", False),
    ],
)
def test_what_runs_left_behind(tmp_path: Path, name: str, is_left: bool) -> None:
    Artifacts(tmp_path / "eval").make()
    make(tmp_path, "other/_artifacts/a.txt", "binary/_artifacts/.gitignore")
    (tmp_path / "binary/_artifacts/.gitignore").write_bytes(b"\xff")
    assert is_left_by_runs(tmp_path / name) is is_left


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cases.yml", "cases.yaml"),
        ("Cases.yaml", "cases.yaml"),
        ("case.jsonl", "cases.jsonl"),
        ("rubric.yml", "rubric.yaml"),
        ("a/shop.cases.yml", "shop.cases.yaml"),
        ("a/shop.v2.case.jsonl", "shop.v2.cases.jsonl"),
        ("a/case.yaml", ""),  # Only the eval directory itself has files of these names.
        ("cases.yaml", ""),
        ("shop.cases.jsonl", ""),
        ("rubric.yaml", ""),
        ("labels.yaml", ""),
        ("cases.csv", ""),
        ("mine.case.yaml", ""),
    ],
)
def test_names_that_are_near(tmp_path: Path, name: str, meant: str) -> None:
    patterns = (*DEFAULT_PATTERNS, "mine.*")
    assert meant_for(tmp_path / "eval" / name, tmp_path / "eval", patterns) == meant
