"""A Ctrl-C: while a run writes down what it came to, and where Python knows no line."""

from __future__ import annotations

import signal
import threading

import pytest

from pytest_recall.plugin.interrupts import Postponed
from tests.helpers.project import BARE, case, row

INTERRUPTS = """
import os
import signal
import sys

import pytest


def hook(event, args):
    if event == "open" and "scorecard.json" in str(args[0]) and presses:
        presses.pop()
        os.kill(os.getpid(), signal.SIGINT)


presses = ["once"]
sys.addaudithook(hook)


@pytest.fixture
def agent():
    return lambda question: question
"""


def test_the_results_are_written_and_the_run_was_interrupted(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_agent(INTERRUPTS).with_cases(case("a"), case("b")).with_state(a=row(2)).at(pytester)
    result = checkout.run_apart("eval")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stderr.str()
    assert checkout.outcomes() == {"a": "passed", "b": "passed"}
    assert checkout.boxes()["a"] == 3


class TestPostponed:
    """The block itself."""

    def test_the_first_is_held_back_and_the_second_is_raised(self) -> None:
        before = signal.getsignal(signal.SIGINT)
        with Postponed() as interrupt:
            assert not interrupt.came
            signal.raise_signal(signal.SIGINT)
            assert interrupt.came
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is before

    def test_one_that_is_ignored_stays_so(self) -> None:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with Postponed() as interrupt:
                signal.raise_signal(signal.SIGINT)
            assert not interrupt.came
        finally:
            signal.signal(signal.SIGINT, before)

    def test_another_thread_has_none(self) -> None:
        before, came = signal.getsignal(signal.SIGINT), []

        def block() -> None:
            with Postponed() as interrupt:
                came.append(interrupt.came)

        thread = threading.Thread(target=block)
        thread.start()
        thread.join()
        assert came == [False]
        assert signal.getsignal(signal.SIGINT) is before


BETWEEN_LINES = """
import itertools
import signal

import pytest


def loop(endless, never):
    for _ in endless:
        if _ is None:
            if never:
                return


@pytest.fixture
def agent():
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    loop(itertools.repeat(None), False)
"""


def test_one_that_comes_at_no_line_ends_the_run_as_any_other(pytester: pytest.Pytester) -> None:
    checkout = BARE.with_agent(BETWEEN_LINES).with_cases(case("a")).at(pytester)
    result = checkout.run_apart("eval")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in result.stderr.str()
    assert "KeyboardInterrupt" in result.stdout.str()
