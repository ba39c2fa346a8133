"""Ask pytest, in a process of its own, which tests are cases and what is wrong with an eval directory.

Judges are fixtures of the project's conftest files, so that pytest alone knows them; nothing is asked or judged.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from pytest_recall.files.errors import one_line
from pytest_recall.files.eval_directory import Place, relative
from pytest_recall.files.find import find_files
from pytest_recall.files.validation import MAX_PROBLEMS

NO_TESTS = 5
"""The exit code of pytest where there was nothing to collect."""
_SENTENCE = re.compile(r"^[^\s:][^:\n]*\.(?:ya?ml|jsonl)(?::\d+)?: ", re.MULTILINE)


def collection_problems(
    folder: Path, cwd: Path, patterns: Sequence[str] = (), ignored: Iterable[Path] = ()
) -> list[str]:
    """Return a sentence for each problem that pytest meets as it collects `folder`, run from `cwd`.

    `patterns` are globs of further case files, and `ignored` files are passed over. Nothing is left behind.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch, "report.xml")
        command = [sys.executable, "-m", "pytest", "-p", "recall", "--collect-only", "-q", "--recall-mode=all"]
        command += [
            "--continue-on-collection-errors",
            "--tb=short",
            f"--junitxml={report}",
            "-o",
            f"cache_dir={scratch}",
        ]
        if patterns:
            command += ["-o", "recall_files=" + "\n".join(patterns)]
        command += [*(f"--ignore={path}" for path in ignored), str(folder)]
        done = subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode in (0, NO_TESTS):
            return []
        found = _of_report(report) or _of_output(done.stderr)
    if not found:
        last = next((line for line in reversed(f"{done.stdout}\n{done.stderr}".splitlines()) if line.strip()), "")
        shown = relative(folder, cwd)
        found = [f"pytest cannot collect it ({one_line(last) or done.returncode}); see `pytest -p recall {shown}`"]
    return found[:MAX_PROBLEMS]


def _of_report(path: Path) -> list[str]:
    """Return what is wrong by the report that pytest has written for JUnit; nothing if it has not come so far."""
    if not path.exists():
        return []
    problems: list[str] = []
    for case in ElementTree.parse(path).iter("testcase"):
        for error in case.iter("error"):
            text = error.text or ""
            if _SENTENCE.match(text):
                problems += text.splitlines()
            else:
                told = [line[1:].strip() for line in text.splitlines() if line.startswith("E ")]
                what = one_line(told[-1] if told else text)
                problems.append(f"{case.get('name')}: cannot be collected ({what}); correct that first")
    return problems


def _of_output(text: str) -> list[str]:
    """Return what is wrong where pytest has not begun: the mistakes in the set, or what a conftest file raised."""
    lines = text.splitlines()
    said = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if said:
        return said
    loading = next((line for line in lines if line.startswith("ImportError while loading conftest")), "")
    told = [line[1:].strip() for line in lines if line.startswith("E ")]
    if not loading or not told:
        return []
    return [f"{loading.split(chr(39))[1]}: cannot be imported ({one_line(told[-1])}); correct that first"]


TOLD_IN = "PYTEST_RECALL_MARKED"
"""The variable that names the file into which a collection writes the marked tests."""
_MARK = b"mark.recall"


class MarkedTests(NamedTuple):
    """The marked tests: scenario and dimension by id; `problem` says why they are not known, if they are not."""

    tests: dict[str, tuple[str, str]]
    problem: str = ""


def marked_tests(place: Place) -> MarkedTests:
    """Return the marked tests that `pytest` without arguments collects; pytest is asked only if a file has the mark."""
    if not _any_mark(place.root):
        return MarkedTests({})
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
            return MarkedTests({}, f"marked tests are not known, since pytest cannot collect them ({one_line(last)})")
        found = json.loads(told.read_text(encoding="utf-8"))
    return MarkedTests({case_id: (names[0], names[1]) for case_id, names in found.items()})


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
