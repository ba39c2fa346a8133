"""Marks: which tests of a project are cases by `@pytest.mark.recall`, which pytest alone can tell."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from pytest_recall.core.errors import one_line
from pytest_recall.run.place import Place
from pytest_recall.store.find import find_files

TOLD_IN = "PYTEST_RECALL_MARKED"
"""The variable that names the file into which a collection writes the marked tests."""
_MARK = b"mark.recall"


class Marked(NamedTuple):
    """The marked tests: scenario and dimension by id; `problem` says why they are not known, if they are not."""

    tests: dict[str, tuple[str, str]]
    problem: str = ""


def marked_tests(place: Place) -> Marked:
    """Return the marked tests that `pytest` without arguments collects; pytest is asked only if a file has the mark."""
    if not _any_mark(place.root):
        return Marked({})
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch, "marked.json")
        command = [sys.executable, "-m", "pytest", "-p", "recall", "--collect-only", "-q", "--recall-mode=all"]
        command += ["--continue-on-collection-errors", "-o", f"cache_dir={scratch}", f"--recall-dir={place.eval_dir}"]
        done = subprocess.run(
            command if place.eval_dir.is_dir() else command[:-1],
            cwd=place.root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", TOLD_IN: str(told)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if not told.exists():
            last = next((line for line in reversed((done.stdout + done.stderr).splitlines()) if line.strip()), "")
            return Marked({}, f"marked tests are not known, since pytest cannot collect them ({one_line(last)})")
        found = json.loads(told.read_text(encoding="utf-8"))
    return Marked({case_id: (names[0], names[1]) for case_id, names in found.items()})


def _any_mark(root: Path) -> bool:
    """Whether a Python file below `root` has the mark, and not only as text."""
    for path in find_files(root, lambda path: path.suffix == ".py"):
        try:
            source = path.read_bytes()
            if _MARK in source and any(_is_mark(node) for node in ast.walk(ast.parse(source))):
                return True
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
    return False


def _is_mark(node: ast.AST) -> bool:
    inner = node.value if isinstance(node, ast.Attribute) and node.attr == "recall" else None
    return isinstance(inner, ast.Attribute) and inner.attr == "mark"
