"""`recall bench heatmap`: pictures of a run, beside it or where they are wanted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_recall.horizon.audit import FOLDER
from tests.cli.conftest import Recall
from tests.helpers.horizon_runs import SMALL, read_lines, write_lines, write_run

pytest.importorskip("matplotlib")


def test_pictures_go_into_the_folder_of_the_run(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "heatmap", "run")
    assert (done.code, done.out.split()) == (0, ["run/heatmap.png", "run/recall-vs-size.png"])
    assert all((tmp_path / name).read_bytes().startswith(b"\x89PNG") for name in done.out.split())


def test_verdicts_are_a_picture_of_their_own(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    assert inside(tmp_path, "bench", "audit", "run").code == 0
    path = tmp_path / "run" / FOLDER / "10d.jsonl"
    rows = read_lines(path)
    write_lines(path, [{**rows[0], "verdict": "system-failure", "cause": "rank.py:8"}, *rows[1:]])
    done = inside(tmp_path, "bench", "heatmap", "run", "--svg", "-o", "pictures/mine.svg", "--colors", "published")
    assert done.out.split() == [
        "pictures/mine.svg",
        "pictures/mine-recall-vs-size.svg",
        "pictures/mine-failures-by-cause.svg",
    ]
    assert "<!-- rank.py:8 -->" in (tmp_path / "pictures" / "mine-failures-by-cause.svg").read_text(encoding="utf-8")


def test_a_run_without_answers_has_a_heatmap(tmp_path: Path, inside: Recall) -> None:
    folder = write_run(tmp_path / "run", SMALL, questions=False)
    (folder / "result.json").unlink()
    done = inside(tmp_path, "bench", "heatmap", "run")
    told = "recall: the run's files hold no answers, so that there are no bands to draw\n"
    assert done == (0, "run/heatmap.png\n", told)


def test_a_name_of_another_format_is_refused(tmp_path: Path, inside: Recall) -> None:
    write_run(tmp_path / "run", SMALL)
    done = inside(tmp_path, "bench", "heatmap", "run", "-o", "a.svg")
    assert done == (2, "", "recall: a.svg: is to be PNG; call it *.png, or give --svg\n")
    done = inside(tmp_path, "bench", "heatmap", "run", "--svg", "-o", "a.png")
    assert done == (2, "", "recall: a.png: is to be SVG; call it *.svg, or leave --svg out\n")


def test_without_matplotlib_nothing_is_drawn(tmp_path: Path, inside: Recall, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "run", SMALL)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = inside(tmp_path, "bench", "heatmap", "run")
    assert done == (2, "", "recall: pictures need matplotlib; run `pip install 'pytest-recall[pictures]'`\n")
