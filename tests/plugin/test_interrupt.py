"""Runs that end early: what had finished is kept and applied, and nothing else is."""

from __future__ import annotations

import signal

import pytest

from tests.helpers.project import BARE, WORKERS, Checkout, Project, case, failing, row
from tests.helpers.running import Running, wait_until

INTERRUPTED = pytest.ExitCode.INTERRUPTED
GOES_ON = [
    "*= recall scorecard =*",
    "chosen but not run (2): stop, z",
    "to resume: run the same command with --recall-resume; it asks what has no verdict yet",
]


def stopping(statement: str) -> Project:
    """Return a project with the cases a, stop and z, whose agent runs `statement` at the second."""
    source = f"""
import os
import signal
import sys


@pytest.fixture
def agent():
    def answer(question):
        asked(question)
        if question == "stop":
            {statement}
        return question

    return answer
"""
    cases = (case("a"), case("stop"), case("z"))
    return BARE.with_agent(source).with_cases(*cases).with_state(a=row(2), stop=row(3, 3), z=row(2))


@pytest.mark.parametrize(
    ("statement", "code"),
    [("pytest.exit('spent')", INTERRUPTED), ("pytest.exit('spent', returncode=7)", 7)],
    ids=["exit", "exit-7"],
)
def test_what_had_finished_is_kept_and_folded(pytester: pytest.Pytester, statement: str, code: int) -> None:
    checkout = stopping(statement).at(pytester)
    result = checkout.run("eval")
    assert result.ret == code
    kept_and_folded(checkout, code)
    if code == INTERRUPTED:  # pytest prints no summary for exit codes that are not its own
        result.stdout.fnmatch_lines(GOES_ON)


def kept_and_folded(checkout: Checkout, code: int) -> None:
    """Assert that the case before the end has its verdict and its box, and that the run was no whole one."""
    assert checkout.outcomes() == {"a": "passed"}
    assert checkout.boxes() == {"a": 3, "stop": 3, "z": 2}
    assert checkout.state()["stop"] == row(3, 3)
    assert checkout.scorecard()["exit_code"] == code
    assert checkout.scorecard()["complete"] is False


def test_the_command_to_resume_is_one_that_is_not_refused(pytester: pytest.Pytester) -> None:
    checkout = stopping("pytest.exit('spent')").with_cases(case("b"), case("stop"), case("z")).at(pytester)
    result = checkout.run("eval", "-k", "b or stop")
    assert result.ret == INTERRUPTED
    command = "the same command with --recall-resume and without -k"
    result.stdout.fnmatch_lines([f"to resume: run {command}; it asks what has no verdict yet"])
    assert checkout.run("eval", "-k", "b or stop", "--recall-resume").ret == pytest.ExitCode.USAGE_ERROR
    assert checkout.run("eval", "--recall-resume", "--collect-only").ret == pytest.ExitCode.OK


def test_an_agent_that_leaves_is_an_error_and_no_verdict(pytester: pytest.Pytester) -> None:
    left = ("SystemExit(3)", "GeneratorExit()", "BaseException('odd')")
    source = (
        f"@pytest.fixture\ndef agent():\n    def answer(question):\n        raise ({', '.join(left)})[int(question)]\n"
    )
    names = [f"c{number}" for number in range(len(left))]
    cases = (case(name, input=str(number)) for number, name in enumerate(names))
    agent = f"{source}    return answer\n"
    checkout = BARE.with_agent(agent).with_cases(*cases).with_state(**{name: row(3, 3) for name in names}).at(pytester)
    checkout.run("eval").assert_outcomes(errors=3)
    assert checkout.outcomes() == dict.fromkeys(names, "error")
    assert checkout.state() == dict.fromkeys(names, row(3, 3))


def test_ctrl_c_on_the_running_process(pytester: pytest.Pytester) -> None:
    # The agent notes that it was asked, and then waits for the signal.
    running = Running(stopping("import time; [time.sleep(0.1) for _ in range(600)]"), pytester)
    checkout, begun = running.checkout, running.start()
    wait_until(lambda: "stop" in checkout.asked())
    result = running.end(begun, signal.SIGINT)
    assert result.ret == INTERRUPTED
    result.stdout.fnmatch_lines(GOES_ON)
    kept_and_folded(checkout, INTERRUPTED)
    assert checkout.recall("state", "apply", "latest").outlines[0].endswith("already in eval/recall.yaml")
    assert checkout.boxes() == {"a": 3, "stop": 3, "z": 2}


def test_ctrl_c_while_an_async_agent_waits(pytester: pytest.Pytester) -> None:
    source = """
import asyncio
import os
import signal


@pytest.fixture(scope="session")
def agent():
    async def answer(question):
        asked(question)
        if question == "stop":
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.Event().wait()
        return question

    return answer
"""
    project = stopping("pass").with_agent(source)
    checkout = project.at(pytester)
    result = checkout.run("eval")
    assert result.ret == INTERRUPTED
    assert checkout.outcomes() == {"a": "passed"}
    assert checkout.boxes() == {"a": 3, "stop": 3, "z": 2}
    assert "never awaited" not in result.stdout.str() + result.stderr.str()


@WORKERS
def test_x_folds_the_failure_and_what_came_before_it(pytester: pytest.Pytester, workers: tuple[str, ...]) -> None:
    cases = (case("a"), failing("b"), case("z"))
    project = stopping("pass").with_cases(*cases).with_state(a=row(2), b=row(3, 3), z=row(2))
    checkout = project.at(pytester)
    result = checkout.run("eval", "-x", *workers)
    assert result.ret == (INTERRUPTED if workers else pytest.ExitCode.TESTS_FAILED)
    boxes = checkout.boxes()
    assert boxes["b"] == 1
    finished = checkout.outcomes()
    assert finished.items() >= {"b": "failed"}.items()
    assert {case_id for case_id, box in boxes.items() if box == 3} == {
        case_id for case_id, outcome in finished.items() if outcome == "passed"
    }


def test_a_crash_in_another_plugin_keeps_what_had_finished(pytester: pytest.Pytester) -> None:
    source = (
        "\n\n@pytest.fixture\ndef agent():\n    return lambda question: question\n"
        "\n\ndef pytest_runtest_logreport(report):\n"
        "    if report.nodeid.endswith('::stop') and report.when == 'setup':\n"
        "        raise RuntimeError('another plugin')\n"
    )
    checkout = stopping("pass").with_agent(source).at(pytester)
    result = checkout.run("eval")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert checkout.outcomes() == {"a": "passed"}
    assert checkout.boxes() == {"a": 3, "stop": 3, "z": 2}
