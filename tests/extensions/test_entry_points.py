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


EXPECTED = {"expected": "yes"}


def convert(document, options):
    into = ImportedSet(options, "mine")
    for row in document.root.each():
        into.add(ImportedTest(place=row.place, fields={"input": row.text("q"), **EXPECTED}, judges=["exact"]))
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


def test_a_case_that_its_judge_cannot_judge_is_named(folder: Path) -> None:
    package(folder, "mine", IMPORTER.replace("NAME", "mine").replace('{"expected": "yes"}', "{}"))
    code, _, error = run(folder, "pytest_recall", "import", "mine", "rows.json")
    assert (code, "judges: exact: needs `expected`" in error) == (1, True)


HOOK = "from pytest_recall.ext import hookimpl\n\n@hookimpl\ndef pytest_recall_importers():\n    "


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("import nothing_there", "it cannot be loaded (ModuleNotFoundError: No module named 'nothing_there', "),
        ("def", "it cannot be loaded (SyntaxError: invalid syntax (mine.py, line 1)"),
        ("raise SystemExit(3)", "it cannot be loaded (SystemExit: 3, "),
        (HOOK.replace("importers", "importer") + "return []", "`pytest_recall_importer` is no hook; did you mean"),
        (
            HOOK.replace("()", "(config)") + "return []",
            "PluginValidationError: Plugin 'mine' for hook 'pytest_recall_importers'",
        ),
        (HOOK + "raise ValueError('x')", "`pytest_recall_importers` has a fault (ValueError: x, "),
        (HOOK + "return ['a']", "`pytest_recall_importers` has a fault (it lists str, and no Importer)"),
    ],
    ids=["import", "syntax", "exit", "name", "argument", "raises", "returns"],
)
def test_an_extension_with_a_fault_is_named_and_alone(folder: Path, source: str, sentence: str) -> None:
    package(folder, "mine", source)
    (folder / "rows.json").write_text(json.dumps([{"input": "Open?", "expected_output": "no"}]), encoding="utf-8")
    code, out, error = run(folder, "pytest_recall", "import", "deepeval", "rows.json", "--default-judge", "exact")
    assert (code, "input: Open?" in out) == (0, True)
    assert error.startswith(f"recall: the extension of mine is left out: {sentence}")
    assert run(folder, "pytest_recall", "--help")[0] == 0


def test_a_tool_of_two_packages_is_refused_and_both_are_named(folder: Path) -> None:
    package(folder, "mine", IMPORTER.replace("NAME", "promptfoo"))
    code, out, error = run(folder, "pytest_recall", "import", "promptfoo", "rows.json")
    assert (code, out) == (2, "")
    assert error == "recall: `promptfoo` is imported by pytest-recall and by mine; uninstall one of them\n"
    assert run(folder, "pytest_recall", "import", "--help")[0] == 0


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return None", "has a fault: `convert` returns NoneType, and no ImportedSet"),
        ("raise SystemExit(0)", "has a fault (SystemExit: 0, "),
        ("raise RecallError()", "refuses it, and does not say why"),
        (
            "import json\n    json.loads('x')",
            "has a fault (JSONDecodeError: Expecting value: ",
        ),
        (
            "ImportedSet(options, 'x').add(ImportedTest(place='a', fields={'id': 'x'}, judges=['exact']))",
            "has a fault (ValueError: `fields` has no `id`",
        ),
    ],
    ids=["nothing", "exit", "refusal", "within", "id"],
)
def test_a_fault_of_convert_is_a_sentence_with_its_line(folder: Path, body: str, sentence: str) -> None:
    source = IMPORTER.replace("NAME", "mine").replace("import ImportedSet", "import RecallError, ImportedSet")
    a, b = source.index("    into = "), source.index("@hookimpl")
    package(folder, "mine", f"{source[:a]}    {body}\n\n\n{source[b:]}")
    code, out, error = run(folder, "pytest_recall", "import", "mine", "rows.json")
    assert (code, out, error.count("\n")) == (2, "", 1)
    assert error.startswith(f"recall: rows.json: the importer `mine` {sentence}")
    assert "mine.py:" in error or "fault (" not in error


@pytest.mark.parametrize("options", [(), ("-p", "recall")], ids=["off", "on"])
def test_pytest_knows_the_hooks_also_while_the_plugin_is_off(folder: Path, options: tuple[str, ...]) -> None:
    (folder / "conftest.py").write_text("def pytest_recall_importers():\n    return []\n", encoding="utf-8")
    (folder / "test_one.py").write_text("def test_one():\n    pass\n", encoding="utf-8")
    code, out, _ = run(folder, "pytest", "-q", *options, "test_one.py")
    assert (code, "1 passed" in out) == (0, True)
