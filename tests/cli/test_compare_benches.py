"""`recall compare` over journals of `recall memory run`, by the command."""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

from pytest_recall.cli import main
from tests.cli.test_membench_judge import MEMORY
from tests.datasets import files
from tests.helpers.scripted import JUDGE

SAMPLE = ("memory", "run", "--dataset", "locomo", "sample")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the journals of two memories over one file, of another file, and one that is none."""
    folder = tmp_path_factory.mktemp("runs")
    with contextlib.chdir(folder):
        write_runs(folder)
    return folder


def write_runs(folder: Path) -> None:
    """Run both memories in this folder, in which the process is."""
    for name, memory in (("fts", "sqlite-fts"), ("none", "null")):
        assert main([*SAMPLE, "--memory", memory, "--out", name]) == 0
    assert main(["memory", "run", "--dataset", "dmr", "sample", "--out", "other"]) == 0
    (folder / "broken").mkdir()
    (folder / "broken" / "trials.jsonl").write_text('{"format": 1}\n')


@pytest.fixture(autouse=True)
def _here(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run both over ten conversations, of two a difference cannot be shown."""
    half = ({**row, "qa": row["qa"][::2]} for row in 5 * files.plain("locomo"))
    rows = [{**row, "sample_id": f"conv-{number}"} for number, row in enumerate(half, start=1)]
    path = files.write(tmp_path / "ten.json", "locomo", rows)
    for name, memory in (("fts", "sqlite-fts"), ("none", "null")):
        assert main(["memory", "run", path.name, "--memory", memory, "--out", f"ten-{name}"]) == 0
    capsys.readouterr()


@pytest.mark.usefixtures("ten")
def test_a_drop_is_shown_and_decides_on_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "ten-fts", "ten-none"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "BASE ten-fts: sqlite-fts on locomo (ten.json), 10 passages, stored by the turn",
        "HEAD ten-none: null on locomo (ten.json), 10 passages, stored by the turn",
        "60 questions in both",
    ]
    assert " ".join(lines[5].split()) == "evidence 50 0.85 0.00 -0.85 (-0.94 to -0.63) 50 0 0.0078"
    assert "A drop is shown in evidence, all of it, 1 / rank, contains." in lines
    assert main(["compare", "ten-none", "ten-fts"]) == 0
    assert "A rise is shown in evidence" in capsys.readouterr().out


def test_the_file_and_the_folder_name_the_same_journal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "fts/trials.jsonl", "none", "--json", "--dimensions", "2 temporal"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["pairs"], plain["base"]["memory"]) == (5, "sqlite-fts")
    assert plain["metrics"]["contains_at_k"]["p_holm"] is None
    assert main(["compare", "fts", "none", "--markdown"]) == 0
    out = capsys.readouterr().out
    assert "# Recall comparison: nothing is shown" in out
    assert "the questions are about 2 conversations: of so few no difference can be shown" in out


def test_journals_of_the_eval_directory_go_by_their_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main([*SAMPLE, "--memory", "full"]) == 0
    (folder,) = (tmp_path / "eval" / "_artifacts" / "membench").iterdir()
    assert main(["compare", folder.name, "fts", "--fail-on", "30"]) == 0
    assert main(["compare", folder.name, "fts", "--fail-on", "20"]) == 1


def test_verdicts_of_a_judge_are_compared(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "client.py").write_text(
        MEMORY + MEMORY.replace("class Kept", "class Worse").replace('"right, "', '"no "')
    )
    (tmp_path / "judge.py").write_text(JUDGE)
    for name in ("Kept", "Worse"):
        run = (*SAMPLE, "--memory", f"python:client.py:{name}", "--judge", "python:judge.py:oracle", "--out", name)
        assert main(run) == 0
    capsys.readouterr()
    assert main(["compare", "Kept", "Worse", "--fail-on", "any-flip"]) == 1
    out = capsys.readouterr().out
    assert "\nLoCoMo judge " in out
    assert "\njudged by python:judge.py:oracle\n" in out
