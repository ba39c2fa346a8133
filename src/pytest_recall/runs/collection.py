"""Let a separate pytest process list the marked tests of a project and what it cannot collect.

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
from typing import Any, NamedTuple

from pytest_recall.files.eval_directory import Place, find_files, relative
from pytest_recall.files.validation import MAX_PROBLEMS
from pytest_recall.files.wording import one_line

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
    from xml.etree import ElementTree  # it is of use to this alone, and each run loads this module

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


MARKED_IN = "PYTEST_RECALL_MARKED"
"""The variable that names the file into which a collection writes the marked tests."""
_MARK = b"mark.recall"


class MarkedTests(NamedTuple):
    """The marked tests."""

    tests: dict[str, tuple[str, str]]
    """The scenario and the dimension by id."""
    problem: str = ""
    """Why they are not known, if they are not."""


def marked_tests(place: Place) -> MarkedTests:
    """Return the marked tests that `pytest` without arguments collects; pytest is asked only if a file has the mark."""
    if not _any_mark(place.root):
        return MarkedTests({})
    with tempfile.TemporaryDirectory() as scratch:
        marked = Path(scratch, "marked.json")
        command = [sys.executable, "-m", "pytest", "-p", "recall", "--collect-only", "-q", "--recall-mode=all"]
        command += ["--continue-on-collection-errors", "-o", f"cache_dir={scratch}", f"--recall-dir={place.eval_dir}"]
        done = subprocess.run(
            command if place.eval_dir.is_dir() else command[:-1],
            cwd=place.root,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", MARKED_IN: str(marked)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if not marked.exists():
            last = next((line for line in reversed((done.stdout + done.stderr).splitlines()) if line.strip()), "")
            return MarkedTests({}, f"marked tests are not known, since pytest cannot collect them ({one_line(last)})")
        found = json.loads(marked.read_text(encoding="utf-8"))
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


# In the order in which pytest looks for it: the file, the section, and whether the file counts without the section.
_FILES = (
    ("pytest.toml", "[pytest]", True),
    (".pytest.toml", "[pytest]", True),
    ("pytest.ini", "[pytest]", True),
    (".pytest.ini", "[pytest]", True),
    ("pyproject.toml", "[tool.pytest.ini_options]", False),
    ("pyproject.toml", "[tool.pytest]", False),
    ("tox.ini", "[pytest]", False),
    ("setup.cfg", "[tool:pytest]", False),
)


class Ini(NamedTuple):
    """Where pytest's settings stand or, without the section, would."""

    file: str | None
    """None where there is none."""
    section: str
    has_section: bool = False
    sets_testpaths: bool = False

    @property
    def is_toml(self) -> bool:
        """Whether values are written as TOML has them."""
        return self.file is not None and self.file.endswith(".toml")


def pytest_ini(root: Path) -> Ini:
    """Return where pytest's settings are in the project at `root`, or belong. What cannot be read sets nothing."""
    there = [one for one in _FILES if (root / one[0]).is_file()]
    for name, section, always in there:
        keys = _keys(root / name, section)
        if keys is not None or always:
            return Ini(name, section, keys is not None, "testpaths" in (keys or ()))
    return Ini(there[0][0], there[0][1]) if there else Ini(None, "[pytest]")


def _keys(path: Path, section: str) -> set[str] | None:
    """Return the keys of a section of the file, or None if it has none."""
    import configparser  # of use to this alone, as is tomllib
    import tomllib

    name = section.strip("[]")
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            found: Any = tomllib.loads(text)
            for part in name.split("."):
                found = found.get(part) if isinstance(found, dict) else None
            # Under `tool.pytest` alone may stand the other table, and nothing else.
            return set(found) - {"ini_options"} or None if isinstance(found, dict) else None
        parser = configparser.ConfigParser(interpolation=None, strict=False)
        parser.read_string(text)
    except (OSError, ValueError, configparser.Error):
        return None
    return set(parser[name]) if parser.has_section(name) else None
