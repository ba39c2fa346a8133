"""Projects in which the commands are tried out."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recall.cli import main
from pytest_recall.files import clock
from pytest_recall.memory import client, http_service
from pytest_recall.memory.session import Memory
from tests.cli.samples import fill, run_evals
from tests.helpers import programs
from tests.helpers.command import Done
from tests.helpers.parsers_once import parsers_once

__all__ = ["parsers_once"]
Recall = Callable[..., Done]


@pytest.fixture(autouse=True)
def _outside_of_github(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("GITHUB_", "RECALL_DATE")):
            monkeypatch.delenv(name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an eval directory that has not been run on the day of the samples."""
    fill(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture(scope="session")
def _ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ran") / "project"
    fill(folder)
    done = run_evals(folder)
    assert done.code == 1, done
    return folder


@pytest.fixture
def ran(_ran: Path, tmp_path: Path) -> Path:
    """A copy of the project after a real run, in which a case failed and another one crashed."""
    return Path(shutil.copytree(_ran, tmp_path / "ran"))


@pytest.fixture
def inside(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Recall:
    """Call `recall` in a folder, within this process."""

    def call(folder: Path, *arguments: str) -> Done:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        try:
            with programs.collecting():
                code = main(arguments)
        except SystemExit as error:  # argparse's own way to refuse
            code = int(str(error.code))
        return Done(code, *capsys.readouterr())

    return call


@pytest.fixture
def virtual_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let waits for a busy service end at once, and the clock by which memories are measured go on by them.

    So they can be far longer than what a loaded machine adds to a time in which they have no part.
    """
    gone = 0.0

    def sleep(seconds: float) -> None:
        nonlocal gone
        gone += seconds

    def now() -> float:
        return clock.perf_counter() + gone

    monkeypatch.setattr(http_service, "sleep", sleep)
    monkeypatch.setitem(Memory.__init__.__kwdefaults__ or {}, "clock", now)
    monkeypatch.setattr(client.own_time.__wrapped__, "__defaults__", (now,))  # type: ignore[attr-defined]
