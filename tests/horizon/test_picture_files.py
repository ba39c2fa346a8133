"""Pictures of two formats side by side: one of ours that is older than the answers goes, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_recall.horizon.heatmap_svg import heatmap_svg
from pytest_recall.horizon.picture_data import heatmap
from pytest_recall.horizon.picture_files import answered_at, write_pictures
from pytest_recall.horizon.pictures import Format, drawn
from tests.helpers.horizon_runs import SMALL, run_of

SECOND = 1_000_000_000


def at(path: Path, seconds: int) -> Path:
    """Make a file of a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (seconds, seconds))
    return path


def ours(path: Path, seconds: int) -> Path:
    """Draw a picture that was there before, of a time."""
    if path.suffix == ".svg":
        path.write_text(heatmap_svg(heatmap(run_of(SMALL))), encoding="utf-8")
    else:
        path.write_bytes(by_matplotlib("png"))
    return at(path, seconds)


def by_matplotlib(format: Format) -> bytes:
    """Return a small picture as `drawn` makes each one."""
    figure = pytest.importorskip("matplotlib.figure")
    return drawn(lambda: figure.Figure(figsize=(1, 1)), format)


@pytest.mark.parametrize(("new", "old"), [("a.png", "a.svg"), ("a.svg", "a.png")])
def test_one_of_ours_that_is_older_than_the_answers_is_removed(tmp_path: Path, new: str, old: str) -> None:
    older = ours(tmp_path / old, 10)
    said = write_pictures({tmp_path / new: (b"new", 20 * SECOND)})
    assert said == [f"{older} is removed: it is older than what {new} shows"]
    assert [path.name for path in tmp_path.iterdir()] == [new]


def test_what_matplotlib_draws_as_svg_is_ours(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_bytes(by_matplotlib("svg"))
    at(tmp_path / "a.svg", 10)
    write_pictures({tmp_path / "a.png": (b"new", 20 * SECOND)})
    assert not (tmp_path / "a.svg").exists()


def test_one_that_shows_the_same_answers_stays(tmp_path: Path) -> None:
    other = ours(tmp_path / "a.svg", 30)
    assert write_pictures({tmp_path / "a.png": (b"new", 20 * SECOND)}) == []
    assert other.exists()


def test_a_file_that_nothing_marks_stays_and_is_named(tmp_path: Path) -> None:
    other = at(tmp_path / "a.svg", 10)
    other.write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    at(other, 10)
    (said,) = write_pictures({tmp_path / "a.png": (b"new", 20 * SECOND)})
    assert said == (
        f"{other} is older than what a.png shows, and stays: nothing in it says that pytest-recall drew it; "
        "delete it if it is a picture of this run"
    )
    assert other.exists()


def test_answers_are_as_old_as_the_journal_or_without_one_as_the_files_of_the_run(tmp_path: Path) -> None:
    assert answered_at(tmp_path) == 0
    at(tmp_path / "result.json", 30)
    at(tmp_path / "questions.jsonl", 20)
    assert answered_at(tmp_path) == 30 * SECOND
    at(tmp_path / "trials.jsonl", 10)
    assert answered_at(tmp_path) == 10 * SECOND
