"""Runs in a process of their own that go on while the test does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread

import pytest

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
