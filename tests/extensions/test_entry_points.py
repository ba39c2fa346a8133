"""Extensions of other packages, in fresh processes: found by their entry points, and refused in a sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

IMPORTER = """\
from pytest_recall.ext import ImportedSet, ImportedTest, Importer, hookimpl


def convert(document, options):
    into = ImportedSet(options, "mine")
    for row in document.root.each():
        into.add(ImportedTest(place=row.place, fields={"input": row.text("q")}, judges=["exact"]))
    return into


@hookimpl
def pytest_recall_importers():
    return [Importer("NAME", "rows of mine", convert)]
"""


def package(folder: Path, name: str, source: str) -> None:
    """Write a package as an installer leaves it, with an entry point of ours."""
    (folder / f"{name}.py").write_text(source, encoding="utf-8")
    info = folder / f"{name}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[pytest_recall]\n{name} = {name}\n", encoding="utf-8")


def run(folder: Path, *command: str) -> tuple[int, str, str]:
    """Run a module in a process that has the packages of the folder; return how it ended and what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**env, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rows to import."""
    (tmp_path / "rows.json").write_text(json.dumps([{"q": "Open?"}]), encoding="utf-8")
    return tmp_path


def test_an_importer_of_another_package_is_a_tool_like_those_that_are_shipped(folder: Path) -> None:
    package(folder, "mine", IMPORTER.replace("NAME", "mine"))
    code, out, _ = run(folder, "pytest_recall", "import", "mine", "rows.json")
    assert (code, "input: Open?" in out) == (0, True)
    _, shown, _ = run(folder, "pytest_recall", "import", "--help")
    assert "mine       rows of mine" in shown
    assert "promptfoo" in shown


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "import nothing_of_this_name",
            "recall: an extension cannot be imported (No module named 'nothing_of_this_name')",
        ),
        (
            "from pytest_recall.ext import hookimpl\n\n@hookimpl\ndef pytest_recall_importer():\n    return []\n",
            "recall: an extension is not valid: ",
        ),
        (IMPORTER.replace("NAME", "promptfoo"), "recall: two extensions import `promptfoo`"),
    ],
    ids=["import", "hook", "name"],
)
def test_what_cannot_be_loaded_is_said_in_a_sentence(folder: Path, source: str, sentence: str) -> None:
    package(folder, "mine", source)
    code, out, error = run(folder, "pytest_recall", "import", "promptfoo", "rows.json")
    assert (code, out, error.count("\n"), error.startswith(sentence)) == (2, "", 1, True)


@pytest.mark.parametrize("options", [(), ("-p", "recall")], ids=["off", "on"])
def test_pytest_knows_the_hooks_also_while_the_plugin_is_off(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "conftest.py").write_text("def pytest_recall_importers():\n    return []\n", encoding="utf-8")
    (folder / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    code, out, _ = run(folder, "pytest", "-q", *options, "test_one.py")
    assert (code, "1 passed" in out) == (0, True)
