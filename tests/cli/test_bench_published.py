"""Options of `recall bench run` by the published names, and the picture that a run leaves."""

from __future__ import annotations

import json
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_recall.cli import main
from tests.helpers.persona import write_project

RUN = ("bench", "run", "--profile", "clerk.profile.yaml", "--ranges", "3d", "6d")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_project(tmp_path)


def test_a_run_by_the_published_options_has_its_files_where_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    beside = ("--progress-jsonl", "r/progress.jsonl", "--question-log", "r/questions.jsonl")
    assert main([*RUN, "--json-out", "r/mine.json", *beside, "--heatmap"]) == 0
    grid = json.loads(capsys.readouterr().out)
    assert (grid["categories"][:2], grid["ranges"]) == (["factual-recall", "temporal-reasoning"], ["3d", "6d"])
    assert grid["counts"][:3] == [[2, 3], [1, 3], [0, 0]]
    # Of passages that no model judged the points say nothing.
    assert grid["unit"] == "share of the relevant days found"
    assert grid["recall"][:3] == [[1, 1], [1, 1], [None, None]]
    assert grid["scores"][:3] == [[None, None]] * 3
    assert grid["boundaries"]["leaks"] == [{"value": 1, "n": 1}, {"value": 1, "n": 2}]
    # The picture is not drawn again without new answers.
    picture = Path("r/heatmap.svg")
    drawn = picture.stat().st_mtime_ns
    assert main([*RUN, "--out", "r"]) == 0
    assert picture.stat().st_mtime_ns == drawn
    capsys.readouterr()
    answers = ("--answer", "python:mine.py:reader", "--out", "answers", "--no-heatmap-png")
    assert main([*RUN, *answers, "--heatmap"]) == 0
    assert not Path("answers/heatmap.svg").exists()
    grid = json.loads(capsys.readouterr().out)
    assert (grid["unit"], grid["scores"][:3]) == ("lexical points of 6", [[6.0, 6.0], [6.0, 6.0], [None, None]])
    assert json.loads(Path("r/mine.json").read_text()) == json.loads(Path("r/result.json").read_text())
    assert {"heatmap.svg", "progress.jsonl", "questions.jsonl", "failures.jsonl"} <= {
        path.name for path in Path("r").iterdir()
    }


def test_a_run_draws_its_heatmap_again_after_new_answers() -> None:
    assert main([*RUN, "--out", "other", "--no-heatmap-png"]) == 0
    picture = Path("other/heatmap.svg")
    assert not picture.exists()
    assert main([*RUN, "--out", "other"]) == 0
    texts = [one.text for one in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[:2] == ["sqlite-fts", "persona: clerk (arcs-60d.yaml)"]
    os.utime(picture, (1, 1))
    assert main([*RUN, "--out", "other"]) == 0
    assert picture.stat().st_mtime > 1


def test_the_time_limit_of_a_service_is_part_of_its_selector(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*RUN, "--memory", "grpc://127.0.0.1:1", "--grpc-timeout", "1.5s", "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith("grpc://127.0.0.1:1;timeout=1.5 on clerk")
