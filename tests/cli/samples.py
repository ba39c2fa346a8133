"""A small eval directory for the commands, and the commands as other processes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import NamedTuple

from pytest_recall.cli import main
from pytest_recall.schedule.state_file import State
from pytest_recall.trials.trial import Row
from tests.helpers.command import Done, apart

DATE = "2026-03-10"
TODAY = date.fromisoformat(DATE)

CASES = """\
- id: right
  scenario: loans
  dimension: facts
  input: How long is a loan?
  expected: one week
  judges: [contains]

- id: worse
  scenario: loans
  dimension: facts
  input: What is the late fee?
  expected: one pound
  judges: [contains]

- id: crash
  scenario: trouble
  dimension: facts
  input: crash
  judges: [{contains: x}]

- id: skipped
  scenario: trouble
  dimension: tone
  input: skip
  judges: [{contains: x}]

- id: later
  scenario: loans
  dimension: tone
  input: Thank you!
  judges: [{contains: welcome}]
"""
CONFTEST = """\
import pytest


@pytest.fixture
def agent():
    def answer(question):
        if question == "crash":
            raise TimeoutError("no answer")
        if question == "skip":
            pytest.skip("no key")
        return "A loan lasts one week."

    return answer
"""
RUBRIC = "owner: the tool library\n"
ROWS = {
    "gone": Row(2, 1, date(2026, 3, 1), date(2026, 3, 4)),
    "later": Row(4, 3, date(2026, 3, 8), date(2026, 3, 22)),
    "right": Row(2, 1, date(2026, 3, 7), TODAY),
    "worse": Row(3, 2, date(2026, 3, 2), date(2026, 3, 9)),
}


def environment() -> dict[str, str]:
    """Return this process's environment without what a CI system put into it; pytest loads what `-p` names."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITHUB_", "PYTEST_"))}
    return {**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def python(folder: Path, *arguments: str, **more: str) -> Done:
    """Run Python in `folder`; no command may end in a traceback."""
    env = {**environment(), "PYTHONIOENCODING": "utf-8", **more}
    if arguments[0] == "-m" and "PYTHONPATH" not in more:  # Something may stand in for a package there.
        # Of what else is installed a run need not know.
        env.setdefault("PYTEST_PLUGINS", "few_plugins")
        done = apart(folder, *arguments[1:], env=env)
    else:
        asked = [sys.executable, *arguments]
        called = subprocess.run(asked, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)
        done = Done(called.returncode, called.stdout, called.stderr)
    assert "Traceback" not in done.err, done.err
    return done


def recall(folder: Path, *arguments: str, **more: str) -> Done:
    """Run `recall` in `folder`."""
    return python(folder, "-m", "pytest_recall", *arguments, **more)


class Made(NamedTuple):
    """A folder in which a command of `recall` was run once for several tests, and what it said."""

    folder: Path
    out: str
    err: str


def made_by(folder: Path, *arguments: str) -> Made:
    """Run `recall` in `folder` within this process; it has to end with 0."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert main(arguments) == 0, err.getvalue()
    return Made(folder, out.getvalue(), err.getvalue())


def installed(folder: Path, *arguments: str) -> str:
    """Return what the installed program `recall` prints in `folder`, under another hash seed than this process has."""
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    command = [str(Path(sys.executable).with_name("recall")), *arguments]
    env = {**environment(), "PYTHONHASHSEED": hash_seed}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=True).stdout


def run_evals(folder: Path, *arguments: str) -> Done:
    """Run `pytest -p recall eval` in `folder`, on the day of the samples."""
    options = ("-q", "-p", "recall", "-p", "no:cacheprovider", "--recall-date", DATE)
    return python(folder, "-m", "pytest", *options, *(arguments or ("eval",)))


def fill(folder: Path) -> None:
    """Write the sample eval directory into `folder`."""
    (folder / "eval").mkdir(parents=True)
    texts = {
        "pytest.ini": "[pytest]\n",
        "eval/cases.yaml": CASES,
        "eval/conftest.py": CONFTEST,
        "eval/rubric.yaml": RUBRIC,
        "eval/recall.yaml": State({}, "").updated(ROWS),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of every file below `folder`, without what Python and the lock leave."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".lock"
    }
