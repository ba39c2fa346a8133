"""What cases print and log while they run at once is shown with each, as if they had run one by one."""

from __future__ import annotations

import json
import logging
from io import TextIOWrapper
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_recall.plugin.output import Output, _Switch
from tests.helpers import kept
from tests.helpers.overlapping import overlapping, told
from tests.helpers.project import Checkout, Project

SECTIONS = """

def pytest_runtest_logreport(report):
    sections = [list(section) for section in report.sections]
    told(json.dumps([report.nodeid, report.when, sections]))
"""
LOUD = """
import logging

LOG = logging.getLogger("loud")


@pytest.fixture(scope="session")
def wide():
    print("wide up")
    LOG.warning("wide logs")
    yield
    print("wide down")


@pytest.fixture
def narrow(wide, recall_case):
    print("up", recall_case.id)
    LOG.warning("up %s", recall_case.id)
    yield
    print("down", recall_case.id)
    LOG.warning("down %s", recall_case.id)


@pytest.fixture
def judge_loud(narrow):
    def judge(answer, case):
        print("judged", answer.text)
        return answer.text != "c"

    return judge


@pytest.fixture
def agent(narrow):
    def answer(question):
        # In one piece: without capture, threads print into each other's lines, as they would by themselves.
        sys.stdout.write(f"asked {question}\\n")
        print("warned", question, file=sys.stderr)
        LOG.info("heard %s", question)
        LOG.debug("not at this level")
        meet()
        sys.stdout.buffer.write(f"bytes {question}\\n".encode())
        threads = [threading.Thread(target=print, args=("thread", question))]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            pool.submit(print, "pool", question).result()
        for thread in threads:
            thread.start()
            thread.join()
        assert sys.stdout.writable() and sys.stdout.encoding
        if question == "d":
            raise ValueError("no")
        return question

    return answer


import concurrent.futures


def meet():
    if GATE.barrier.parties > 1:
        GATE.sync()
"""


def project(gate: int) -> Project:
    """Return one with the cases a, b, c (which fails) and d (which crashes), which notes what each report shows."""
    made = overlapping(LOUD + SECTIONS, *"abcd", gate=gate)
    return made.with_files({"eval/cases.yaml": made.files["eval/cases.yaml"].replace('["exact"]', '["loud"]')})


def sections(checkout: Checkout, result: pytest.RunResult) -> list[Any]:
    """Return what each report shows."""
    result.assert_outcomes(passed=2, failed=1, errors=1)
    return [json.loads(line) for line in told(checkout)]


@pytest.mark.parametrize("capture", ["fd", "sys", "tee-sys"])
def test_each_report_shows_what_its_own_case_printed_and_logged(pytester: pytest.Pytester, capture: str) -> None:
    one_by_one = sections(*kept.ran(pytester, project(gate=1), "eval", "--log-level=INFO"))
    checkout = project(gate=4).at(pytester)
    (checkout.path / "eval" / "told.txt").unlink()
    result = checkout.run("eval", "--log-level=INFO", f"--capture={capture}", "--recall-concurrency=4")
    at_once = sections(checkout, result)
    assert at_once == one_by_one
    shown = {(case.partition("::")[2], when): dict(found) for case, when, found in at_once}
    assert shown["b", "call"]["Captured stdout call"] == (
        "asked b\nbytes b\npool b\nthread b\njudged b\n"
    ), shown["b", "call"]  # fmt: skip
    assert shown["b", "call"]["Captured stderr call"] == "warned b\n"
    assert "INFO     loud:conftest.py" in shown["b", "call"]["Captured log call"]
    assert shown["b", "setup"]["Captured stdout setup"] == "up b\n"
    assert shown["a", "setup"]["Captured stdout setup"] == "wide up\nup a\n"


def test_a_logger_that_keeps_to_itself_is_shown_too(pytester: pytest.Pytester) -> None:
    source = """
import logging

APART = logging.getLogger("apart")
APART.propagate = False


@pytest.fixture
def agent():
    def answer(question):
        GATE.sync()
        APART.error("apart %s", question)
        return question

    return answer
"""
    checkout = overlapping(source + SECTIONS, *"ab", gate=2).at(pytester)
    checkout.run("eval", "--recall-concurrency=2").assert_outcomes(passed=2)
    shown = {nodeid[-1]: dict(found) for nodeid, when, found in map(json.loads, told(checkout)) if when == "call"}
    assert {name: found["Captured log call"][-7:] for name, found in shown.items()} == {"a": "apart a", "b": "apart b"}


def test_without_capture_it_is_printed_as_it_comes(pytester: pytest.Pytester) -> None:
    project = overlapping(LOUD, *"abcd")
    cases = project.files["eval/cases.yaml"].replace('["exact"]', '["loud"]')
    result = project.with_files({"eval/cases.yaml": cases}).at(pytester).run("eval", "-s", "--recall-concurrency=4")
    result.assert_outcomes(passed=2, failed=1, errors=1)
    assert [name for name in "abcd" if f"asked {name}\n" in result.stdout.str()] == [*"abcd"]


def test_what_other_processes_print_as_fixtures_are_set_up_stays_with_the_case(pytester: pytest.Pytester) -> None:
    source = """
import subprocess


@pytest.fixture
def agent(recall_case):
    subprocess.run(["echo", "process of", recall_case.id])
    return lambda question: question
"""
    checkout = overlapping(source + SECTIONS, *"ab").at(pytester)
    result = checkout.run("eval", "--recall-concurrency=2")
    result.assert_outcomes(passed=2)
    result.stdout.no_fnmatch_line("process of*")
    setups = {nodeid[-1]: dict(found) for nodeid, when, found in map(json.loads, told(checkout)) if when == "setup"}
    assert setups == {name: {"Captured stdout setup": f"process of {name}\n"} for name in "ab"}


def test_a_thread_that_outlives_its_case_prints_with_the_one_whose_turn_it_is(pytester: pytest.Pytester) -> None:
    source = """
GO, DONE = threading.Event(), threading.Event()


def late():
    GO.wait(10)
    print("late")
    DONE.set()


@pytest.fixture
def agent(recall_case):
    def answer(question):
        if question == "a":
            threading.Thread(target=late).start()
        return question

    yield answer
    if recall_case.id == "b":
        GO.set()
        DONE.wait(10)
"""
    checkout = overlapping(source + SECTIONS, *"ab").at(pytester)
    checkout.run("eval", "--recall-concurrency=2").assert_outcomes(passed=2)
    shown = {(nodeid[-1], when): dict(found) for nodeid, when, found in map(json.loads, told(checkout))}
    assert shown["b", "teardown"] == {"Captured stdout teardown": "late\n"}


def test_what_stands_for_a_stream_is_used_as_the_stream() -> None:
    with TemporaryFile("w+") as file:
        file.write("one\ntwo\n")
        file.seek(0)
        stream = _Switch("stdout", file)
        assert isinstance(stream, TextIOWrapper)
        assert list(stream) == ["one\n", "two\n"]
        assert stream.fileno() == file.fileno()
        stream.mode = "changed"  # type: ignore[misc]
        assert file.mode == "changed"


def test_the_level_of_the_log_is_that_of_the_settings_meanwhile() -> None:
    """Of itself pytest sets it within a phase, and cases that run at once log between two."""
    root, handler = logging.getLogger(), logging.StreamHandler()
    before = root.level
    plugins = {"logging-plugin": SimpleNamespace(caplog_handler=handler, log_level=before - 1)}
    output = Output(SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=plugins.get)))  # type: ignore[arg-type]
    assert (root.level, output.handlers) == (before - 1, (handler,))
    output.close()
    assert root.level == before
    without = Output(SimpleNamespace(pluginmanager=SimpleNamespace(getplugin=lambda name: None)))  # type: ignore[arg-type]
    assert without.handlers == ()
    without.close()
