"""Lines of progress: one now and then while cases run, where they disturb nothing, and none after the end."""

from __future__ import annotations

import os
import threading

import pytest

from pytest_recall.plugin.progress import THREAD
from tests.helpers import command
from tests.helpers.project import BARE, DAY, ECHOING, SETTINGS, Project, case, crashing, failing

# `run` writes what a run prints to the file `stdout`: an agent sleeps until it reads there what it waits for.
WAITING = """
import time
import pathlib


@pytest.fixture
def agent(request):
    printed = request.config.rootpath / "stdout"

    def answer(question):
        print("said by the case")
        if question == "crash":
            raise RuntimeError("boom")
        patience = time.monotonic() + 60
        while question.startswith("recall:") and not any(
            line.startswith(question) for line in printed.read_text().splitlines()
        ):
            assert time.monotonic() < patience, printed.read_text()
            time.sleep(0.02)
        return question

    return answer
"""
OFTEN = {"pytest.ini": SETTINGS + "recall_progress = 0.2\n"}


def waiting(*cases: dict[str, object]) -> Project:
    """Return a project whose agent waits for the line that it is asked for."""
    return BARE.with_files(OFTEN).with_agent(WAITING).with_cases(*cases)


def run(project: Project, pytester: pytest.Pytester, *args: str) -> pytest.RunResult:
    """Run the project in a process of its own, which prints to the file `stdout`."""
    path = project.at(pytester).path
    given = (f"--basetemp={pytester.mkdir('base')}", f"--recall-date={DAY}", *args)
    done = command.apart(path, "pytest", *given, env=os.environ, printed=path / "stdout")
    return pytest.RunResult(done.code, done.out.splitlines(), done.err.splitlines(), duration=0)


def lines(result: pytest.RunResult) -> list[str]:
    """Return the lines of progress, each once."""
    told = [line for line in result.outlines if line.startswith("recall: ") and "seed" not in line]
    return list(dict.fromkeys(told))


def test_it_counts_what_is_done_failed_and_without_a_verdict(pytester: pytest.Pytester) -> None:
    told = "recall: 4 of 5 cases, 1 failed, 1 without a verdict, less than 1 min left"
    project = waiting(case("a"), failing("b"), crashing("c"), case("d"), case("e", input=told))
    # By default a worker is sent two cases at a time, and the second waits for the first.
    result = run(project, pytester, "eval", "-n2", "--maxschedchunk=1")
    result.assert_outcomes(passed=3, failed=1, errors=1)
    assert told in lines(result)


@pytest.mark.parametrize(
    ("verbosity", "begun", "ended"),
    [
        ("-v", "eval/cases.yaml::b ", "PASSED                                                [100%]"),
        ("--tb=no", "eval/cases.yaml .", "."),
        ("-q", ".", "."),
    ],
    ids=["verbose", "dots", "quiet"],
)
def test_pytest_goes_on_where_it_was(pytester: pytest.Pytester, verbosity: str, begun: str, ended: str) -> None:
    project = waiting(case("a"), case("b", input="recall: 1 of 2 cases"))
    result = run(project, pytester, "eval", verbosity)
    told = [number for number, line in enumerate(result.outlines) if line == "recall: 1 of 2 cases"]
    assert told == list(range(told[0], told[-1] + 1))
    assert result.outlines[told[0] - 1] == begun
    assert result.outlines[told[-1] + 1].startswith(" " * len(begun) + ended)


def test_a_slow_case_does_not_silence_it_and_the_line_is_no_output_of_the_case(pytester: pytest.Pytester) -> None:
    project = waiting(failing("a", input="recall: 0 of 1 case"))
    result = run(project, pytester, "eval", "-rA")
    result.assert_outcomes(failed=1)
    assert lines(result)[0] == "recall: 0 of 1 case"
    result.stdout.fnmatch_lines(["*Captured stdout call*", "      said by the case"])
    captured = next(number for number, line in enumerate(result.outlines) if "Captured stdout call" in line)
    assert not any(line.startswith("recall: 0") for line in result.outlines[captured:])


def test_a_case_that_is_asked_again_is_one_case(pytester: pytest.Pytester) -> None:
    project = waiting(case("a", trials=3), case("b", input="recall: 1 of 2 cases"))
    result = run(project, pytester, "eval")
    assert "recall: 1 of 2 cases" in lines(result)


def test_marked_tests_on_workers_are_counted_without_a_total(pytester: pytest.Pytester) -> None:
    source = """
import time

import pytest


@pytest.mark.recall("one")
def test_one():
    pass


@pytest.mark.recall("two")
def test_two(request):
    patience = time.monotonic() + 60
    printed = request.config.rootpath / "stdout"
    while "\\nrecall: 1 case\\n" not in printed.read_text():
        assert time.monotonic() < patience
        time.sleep(0.02)
"""
    project = BARE.with_files({**OFTEN, "test_marked.py": source})
    result = run(project, pytester, "-n1")
    result.assert_outcomes(passed=2)
    assert lines(result)[0] == "recall: 1 case"


def test_a_run_that_stops_at_a_fail_says_nothing_more(pytester: pytest.Pytester) -> None:
    project = waiting(failing("a", input="recall: 0 of 1 case"))
    result = run(project, pytester, "eval", "-x", "-n1")
    result.stdout.fnmatch_lines(["recall: 0 of 1 case", "*= recall scorecard =*"])
    scorecard = next(number for number, line in enumerate(result.outlines) if "recall scorecard" in line)
    assert not any(line.startswith("recall: ") for line in result.outlines[scorecard:])


@pytest.mark.parametrize(
    "end",
    [
        "return question",
        "os.kill(os.getpid(), signal.SIGINT)",
        "pytest.exit('spent')",
    ],
    ids=["end", "sigint", "exit"],
)
def test_no_thread_stays_behind(pytester: pytest.Pytester, end: str) -> None:
    source = f"""
import os
import signal
import threading


@pytest.fixture
def agent():
    def answer(question):
        for thread in threading.enumerate():
            asked(thread.name)
        {end}

    return answer
"""
    checkout = BARE.with_files(OFTEN).with_agent(source).with_cases(case("a")).at(pytester)
    checkout.run("eval")
    assert THREAD in checkout.asked()
    assert THREAD not in [thread.name for thread in threading.enumerate()]


def test_a_short_run_prints_no_line(pytester: pytest.Pytester) -> None:
    result = ECHOING.with_cases(case("a"), case("b")).at(pytester).run("eval")
    result.assert_outcomes(passed=2)
    assert lines(result) == []


@pytest.mark.parametrize(
    ("setting", "given"),
    [("0", ()), ("0.01", ("-q", "-q")), ("0.01", ("-p", "no:terminal"))],
    ids=["off", "quiet", "no-terminal"],
)
def test_where_nobody_wants_to_hear_of_it(pytester: pytest.Pytester, setting: str, given: tuple[str, ...]) -> None:
    source = """
import threading


@pytest.fixture
def agent():
    return lambda question: " ".join(thread.name for thread in threading.enumerate())
"""
    ini = {"pytest.ini": SETTINGS + f"recall_progress = {setting}\n"}
    checkout = BARE.with_files(ini).with_agent(source).with_cases(case("a")).at(pytester)
    assert lines(checkout.run("eval", *given)) == []
    answer = checkout.journal().trials[0].answer
    assert answer is not None
    assert THREAD not in answer.text


def test_where_no_case_runs_there_is_no_line(pytester: pytest.Pytester) -> None:
    source = f"import threading\n\ndef test_it():\n    assert {THREAD!r} not in map(repr, threading.enumerate())\n"
    project = ECHOING.with_files({**OFTEN, "test_it.py": source})
    assert lines(project.at(pytester).run()) == []
