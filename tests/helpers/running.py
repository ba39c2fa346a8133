"""Runs in a process of their own that go on while the test does, and the collections that commands start."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.runs import collection
from tests.helpers import command
from tests.helpers.project import Project

SAYS_WHO_IT_IS = """
import os
if "PYTEST_XDIST_WORKER" not in os.environ:
    pathlib.Path("pid").write_text(str(os.getpid()))
"""


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what is going to happen."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it has not happened"
        time.sleep(0.02)


class Running:
    """A project whose runs are begun, and sent signals to."""

    def __init__(self, made: Project, pytester: pytest.Pytester) -> None:
        conftest = made.files["eval/conftest.py"] + SAYS_WHO_IT_IS
        self.checkout = made.with_files({"eval/conftest.py": conftest}).at(pytester)

    def start(self, *options: str) -> Future[pytest.RunResult]:
        """Begin a run over `eval`."""
        begun: Future[pytest.RunResult] = Future()

        def run() -> None:
            try:
                begun.set_result(self.checkout.run_apart("eval", *options))
            except BaseException as error:
                begun.set_exception(error)

        # One that never ends is not waited for when pytest does.
        Thread(target=run, daemon=True).start()
        return begun

    def end(self, begun: Future[pytest.RunResult], number: signal.Signals) -> pytest.RunResult:
        """Send a signal to the run that was begun last, and wait for its end."""
        os.kill(int((self.checkout.path / "pid").read_text()), number)
        return begun.result(timeout=60)


@pytest.fixture
def quick_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes in which commands collect the tests have all imported that they need."""

    def run(given: list[str], *, cwd: Path, env: dict[str, str], **rest: Any) -> subprocess.CompletedProcess[str]:
        done = command.apart(Path(cwd), *given[2:], env=env)
        return subprocess.CompletedProcess(given, done.code, done.out, done.err)

    monkeypatch.setattr(collection, "subprocess", SimpleNamespace(run=run, DEVNULL=subprocess.DEVNULL))
