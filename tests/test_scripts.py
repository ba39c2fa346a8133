"""Scripts: the slice that they print is the one that a run takes, and the tables that they wrote still hold."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SELECT = ROOT / "scripts" / "select-recall-batch.py"
ON = ("--date", "2026-11-21", "--seed", "42")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our own eval set, so that what is written stays out of this one."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "eval", folder / "eval", ignore=shutil.ignore_patterns("_artifacts", "__pycache__"))
    return folder


def call(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, encoding="utf-8", check=False
    )


def today(folder: Path) -> str:
    return (folder / "eval" / "_artifacts" / "today.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("mode", ["pr", "nightly", "all"])
def test_the_script_the_command_and_the_run_take_one_slice(checkout: Path, mode: str) -> None:
    scripted = call(checkout, str(SELECT), "--mode", mode, *ON)
    assert scripted.returncode == 0, scripted.stderr
    assert scripted.stdout == today(checkout)
    commanded = call(checkout, "-m", "pytest_recall", "select", "--mode", mode, *ON)
    assert commanded.stdout == scripted.stdout
    before = (checkout / "eval" / "recall.yaml").read_bytes()
    run = call(
        checkout, "-m", "pytest", "-q", "-x", "-p", "recall", "eval", "--replay", "--recall-mode", mode,
        "--recall-date", ON[1], "--recall-seed", ON[3],
    )  # fmt: skip
    assert run.returncode == 1, run.stdout
    assert today(checkout) == scripted.stdout
    (checkout / "eval" / "recall.yaml").write_bytes(before)


def test_a_mistake_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "cases.yaml").write_text("- id: a\n", encoding="utf-8")
    done = call(tmp_path, str(SELECT))
    assert done.returncode == 1
    assert done.stdout == ""
    assert "eval/cases.yaml:1: scenario: is missing; add it\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_tables_of_the_shipped_memories_still_hold() -> None:
    pytest.importorskip("wordllama")
    done = call(ROOT, str(ROOT / "scripts" / "memory-baselines.py"), "--check")
    assert done.returncode == 0, done.stdout + done.stderr
