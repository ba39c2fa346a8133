"""Projects for end-to-end tests: files as plain data, and what runs over them left on disk."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import pytest_recall
from pytest_recall.files import strict_yaml
from pytest_recall.files.eval_directory import Artifacts
from pytest_recall.schedule.state_file import State, read_state
from pytest_recall.trials.journal import read_journal
from pytest_recall.trials.record import Record
from pytest_recall.trials.trial import Row
from tests.helpers import command
from tests.helpers.autoload import nursery

# A run in this process forgets the modules that it was the first to import, and the next one would import
# them again and rewrite their assertions. Our own are kept, and what they import late; some of that are extras.
_LATE = ("asyncio", "filelock", "jsonschema", "ijson", "sqlite3", "statistics", "xdist.dsession")
_OURS = (found.name for found in pkgutil.walk_packages(pytest_recall.__path__, "pytest_recall."))
for _module in (*_LATE, *(name for name in _OURS if not name.endswith("__main__"))):
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module(_module)

DAY = "2026-03-10"
"""The day on which runs are, unless they say otherwise."""
IN = {0: DAY, 1: "2026-03-11", 3: "2026-03-13", 7: "2026-03-17", 14: "2026-03-24", 30: "2026-04-09"}

RUBRIC = "eval/rubric.yaml"
WORKERS = pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "n2"])
"""Run a test in one process, and again with two workers of pytest-xdist."""

SETTINGS = """\
[pytest]
addopts = --strict-markers --strict-config
filterwarnings = error
xfail_strict = true
"""
RECORDING = """\
import pathlib

import pytest


def asked(question):
    with pathlib.Path(__file__).with_name("asked.txt").open("a") as log:
        log.write(f"{question}\\n")


"""
ECHO = """\
@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        if question == "crash":
            raise RuntimeError("boom")
        return question

    return answer
"""


def case(case_id: str, **given: Any) -> dict[str, Any]:
    """Return a case that the echoing agent passes, with the `given` fields in place of its own."""
    plain = {"id": case_id, "scenario": "one", "dimension": "facts", "input": case_id, "judges": ["exact"]}
    return {"expected": given.get("input", case_id), **plain, **given}


def failing(case_id: str, **given: Any) -> dict[str, Any]:
    """Return a case that the echoing agent fails."""
    return case(case_id, **{"expected": "something else", **given})


def crashing(case_id: str, **given: Any) -> dict[str, Any]:
    """Return a case at which the echoing agent crashes."""
    return case(case_id, **{"input": "crash", **given})


def cases_yaml(*cases: Mapping[str, Any]) -> str:
    """Return the text of a case file."""
    rows = ("- " + "\n  ".join(f"{key}: {json.dumps(value)}" for key, value in row.items()) for row in cases)
    return "".join(f"{row}\n" for row in rows)


def row(box: int = 1, streak: int = 1, *, due: str = DAY, tested: str = "2026-03-01", **more: Any) -> Row:
    """Return a state row that is due on the day of the runs."""
    return Row(box, streak, date.fromisoformat(tested), date.fromisoformat(due), **more)


def state_yaml(**rows: Row) -> str:
    """Return the text of a state file; `_` in a name stands for `-`."""
    return State({}, "").updated({name.replace("_", "-"): row for name, row in rows.items()})


@dataclass(frozen=True)
class Project:
    """The files of a project, by path. Nothing is written before `at`."""

    files: Mapping[str, str] = field(default_factory=dict)

    def with_files(self, files: Mapping[str, str]) -> Project:
        """Return the project with these files added or replaced."""
        return replace(self, files={**self.files, **files})

    def without(self, *names: str) -> Project:
        """Return the project without these files."""
        return replace(self, files={name: text for name, text in self.files.items() if name not in names})

    def with_cases(self, *cases: Mapping[str, Any], file: str = "eval/cases.yaml") -> Project:
        """Return the project with these cases in `file`, and with a rubric, without which they would not be run.

        By this rubric each failure is one to pytest as well, new and known ones too.
        """
        rubric = {} if RUBRIC in self.files else {RUBRIC: "owner: us\nblocks: failure\n"}
        return self.with_files({**rubric, file: cases_yaml(*cases)})

    def with_agent(self, source: str) -> Project:
        """Return the project with this eval/conftest.py, which has `pytest` and `asked(question)` to use."""
        return self.with_files({"eval/conftest.py": RECORDING + source})

    def with_state(self, **rows: Row) -> Project:
        """Return the project with these rows in its state file."""
        return self.with_files({"eval/recall.yaml": state_yaml(**rows)})

    def at(self, pytester: pytest.Pytester) -> Checkout:
        """Write the files and return where they are."""
        for name, text in self.files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return Checkout(pytester)


BARE = Project({"pytest.ini": SETTINGS})
"""A project without an eval set."""
ECHOING = BARE.with_agent(ECHO)
"""A project whose agent answers with the question, and crashes at the question "crash"."""


@dataclass(frozen=True)
class Checkout:
    """A project on disk."""

    pytester: pytest.Pytester

    @property
    def path(self) -> Path:
        """The root of the project."""
        return self.pytester.path

    @property
    def artifacts(self) -> Artifacts:
        """What runs left behind."""
        return Artifacts(self.path / "eval")

    def run(self, *args: str, day: str | None = DAY) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess(*_arguments(args, day), no_reraise_ctrlc=True)

    def run_apart(self, *args: str, day: str | None = DAY) -> pytest.RunResult:
        """Run pytest in a process of its own, for what this process would not survive; imports are there already."""
        if "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ:  # All that are installed are asked for.
            return self.run_afresh(*args, day=day)
        base = self.pytester.mkdir(f"run-{len(list(self.path.glob('run-*')))}")
        return self._apart("pytest", f"--basetemp={base}", *_arguments(args, day))

    def run_afresh(self, *args: str, day: str | None = DAY) -> pytest.RunResult:
        """Run pytest in a process that starts from nothing, for what depends on what is imported, and when."""
        return self.pytester.runpytest_subprocess(*_arguments(args, day))

    def recall(self, *args: str) -> pytest.RunResult:
        """Run the command line `recall` in this process."""
        start = monotonic()
        return _result(command.run(self.path, *args), start)

    def recall_apart(self, *args: str) -> pytest.RunResult:
        """Run the command line `recall` in a process of its own."""
        return self._apart("pytest_recall", *args)

    def _apart(self, module: str, *args: str) -> pytest.RunResult:
        start = monotonic()
        path = os.pathsep.join(filter(None, (str(Path.cwd()), os.environ.get("PYTHONPATH"))))
        done = command.apart(Path.cwd(), module, *args, env={**os.environ, "PYTHONPATH": path})
        print(done.out, done.err)  # pytest shows it of a test that fails.
        return _result(done, start)

    def asked(self) -> list[str]:
        """Return what the agent was asked, sorted."""
        return sorted(line for log in self.path.rglob("asked.txt") for line in log.read_text().splitlines())

    def state_text(self) -> str | None:
        """Return the text of the state file, or None if there is none."""
        path = self.path / "eval/recall.yaml"
        return path.read_text(encoding="utf-8") if path.exists() else None

    def state(self) -> dict[str, Row]:
        """Return the rows of the state file, but for what their last passes were given under."""
        rows = read_state(self.path / "eval/recall.yaml", "eval/recall.yaml").rows
        return {case_id: row._replace(passed_under=None) for case_id, row in rows.items()}

    def passed_under(self) -> dict[str, str | None]:
        """Return what the last pass of each row of the state file was given under."""
        rows = read_state(self.path / "eval/recall.yaml", "eval/recall.yaml").rows
        return {case_id: row.passed_under for case_id, row in rows.items()}

    def state_digest(self) -> str:
        """Return the digest by which today.yaml names the state file."""
        return read_state(self.path / "eval/recall.yaml", "eval/recall.yaml").digest

    def forget(self) -> None:
        """Delete the state file and what runs left behind."""
        (self.path / "eval/recall.yaml").unlink(missing_ok=True)
        shutil.rmtree(self.artifacts.folder, ignore_errors=True)

    def boxes(self) -> dict[str, int]:
        """Return the box of each row of the state file."""
        return {case_id: row.box for case_id, row in self.state().items()}

    def today(self) -> dict[str, Any]:
        """Return today.yaml."""
        text = (self.artifacts.folder / "today.yaml").read_text(encoding="utf-8")
        loaded: dict[str, Any] = strict_yaml.load(text, "today.yaml")
        return loaded

    def slice(self) -> dict[str, str]:
        """Return the reason of each chosen case, from today.yaml."""
        return {told["id"]: told["reason"] for told in self.today()["cases"]}

    def scorecard(self) -> dict[str, Any]:
        """Return scorecard.json."""
        loaded: dict[str, Any] = json.loads((self.artifacts.folder / "scorecard.json").read_text(encoding="utf-8"))
        return loaded

    def journal(self) -> Record:
        """Return the journal of the newest run."""
        return read_journal(self.artifacts.runs()[-1])

    def outcomes(self) -> dict[str, str]:
        """Return the outcome of each case in the newest run's journal; the last trial counts."""
        return {trial.case_id: trial.outcome.value for trial in self.journal().trials}


def _result(done: command.Done, start: float) -> pytest.RunResult:
    return pytest.RunResult(done.code, done.out.splitlines(), done.err.splitlines(), duration=monotonic() - start)


def _arguments(args: tuple[str, ...], day: str | None) -> list[str]:
    if any(arg.startswith("-n") for arg in args):
        nursery.open_one()
    # Off unless asked for: the one opens a socket in every run, the other is imported again in every run.
    reruns = () if any(arg.startswith("--reruns") for arg in args) else ("-p", "no:rerunfailures")
    # pytest-asyncio warns where this is not chosen, and warnings are errors.
    every = "PYTEST_DISABLE_PLUGIN_AUTOLOAD" not in os.environ
    chosen = ("-o", "asyncio_default_fixture_loop_scope=function") if every else ()
    return [*reruns, *chosen, "-p", "no:hypothesispytest", *(("--recall-date", day) if day else ()), *args]
