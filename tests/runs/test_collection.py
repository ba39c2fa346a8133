"""What pytest says of a project: where its settings are, which files have marks, and how it ended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_recall.files.eval_directory import Place
from pytest_recall.runs.collection import Ini, MarkedTests, collection_problems, marked_tests, pytest_ini


@pytest.mark.parametrize(("said", "told"), [("echo; echo Killed >&2", "Killed"), ("true", "137")])
def test_a_pytest_that_is_killed_says_so_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\n{said}\nexit 137\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    assert collection_problems(tmp_path / "eval", tmp_path) == [
        f"pytest cannot collect it ({told}); see `pytest -p recall eval`"
    ]


@pytest.mark.parametrize("source", [b"@pytest.mark.recall(\n", b"pytest.mark.recall\0", b"\xff = pytest.mark.recall\n"])
def test_a_file_that_is_no_python_has_no_mark(place: Place, source: bytes) -> None:
    (place.root / "test_marked.py").write_bytes(source)
    assert marked_tests(place) == MarkedTests({})


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("pytest.ini", b"[pytest]\ntestpaths = eval\n", Ini("pytest.ini", "[pytest]", True, True)),
        ("pytest.ini", b"testpaths = eval\n", Ini("pytest.ini", "[pytest]")),
        ("pytest.ini", b"[pytest]\n\xff = 1\n", Ini("pytest.ini", "[pytest]")),
        ("pyproject.toml", b"[tool.pytest", Ini("pyproject.toml", "[tool.pytest.ini_options]")),
        ("tox.ini", b"[tox]\n", Ini("tox.ini", "[pytest]")),
    ],
)
def test_settings_that_cannot_be_read_set_nothing(tmp_path: Path, name: str, text: bytes, found: Ini) -> None:
    (tmp_path / name).write_bytes(text)
    assert pytest_ini(tmp_path) == found
